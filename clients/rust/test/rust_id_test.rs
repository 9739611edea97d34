//! Ids without the database, compared with what the database says, and names before ids.

mod tap;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sno::{Prefixes, Sno};
use tap::{ok, same, vectors};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{:02x}", byte)).collect()
}

fn ms(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap().as_millis()
}

fn fields(id: Sno) -> Vec<String> {
    vec![
        hex(&id.to_bytes()),
        id.to_string(),
        ms(id.time()).to_string(),
        u8::from(id.tick_tock()).to_string(),
        id.meta().to_string(),
        id.partition().to_string(),
        id.sequence().to_string(),
    ]
}

fn reads_and_writes(lines: &[Vec<String>]) -> Vec<Sno> {
    let ids: Vec<Sno> = lines.iter().map(|line| line[1].parse().unwrap()).collect();
    let seen: Vec<_> = ids.iter().map(|&id| fields(id)).collect();
    same(&seen[..], lines, format!("{} ids: text, bytes and fields", ids.len()));
    let differ = |id: &&Sno| {
        [Sno::from_uuid(id.to_uuid()), Sno::from_uuid(id.to_uuidv8()), Ok(Sno::from_bytes(id.to_bytes()))]
            != [(); 3].map(|_| Ok(**id))
    };
    same(ids.iter().find(differ), None, "uuids and bytes, and back");
    ids
}

/// The order, uuids and bounds are those of the database.
async fn database(mut ids: Vec<Sno>) {
    let client = tap::open(tap::config()).await.unwrap();
    let rows = client
        .query(
            "SELECT id::text, encode(uuid_send(id::uuid), 'hex'), encode(uuid_send(sno_to_uuidv8(id)), 'hex'),
                 sno_min(id::timestamptz)::text, sno_max(id::timestamptz)::text
             FROM unnest($1::text[]::sno[]) AS ids (id) ORDER BY ids.id",
            &[&ids.iter().map(Sno::to_string).collect::<Vec<_>>()],
        )
        .await
        .unwrap();
    ids.sort();
    let wanted: Vec<Vec<String>> = rows.iter().map(|row| (0..5).map(|i| row.get(i)).collect()).collect();
    let seen: Vec<Vec<String>> = ids
        .iter()
        .map(|id| {
            let (min, max) = (Sno::min(id.time()), Sno::max(id.time()));
            vec![id.to_string(), hex(&id.to_uuid()), hex(&id.to_uuidv8()), min.to_string(), max.to_string()]
        })
        .collect();
    same(seen, wanted, "order, uuids and bounds are those of the database");

    let at = |us: i64| match u64::try_from(us) {
        Ok(us) => UNIX_EPOCH + Duration::from_micros(us),
        Err(_) => UNIX_EPOCH - Duration::from_micros(us.unsigned_abs()),
    };
    let (first, last) = (1_262_304_000_000_000, 3_461_327_255_552_000); // of the times that ids have
    for us in [
        -1000,
        first - 1,
        first,
        first + 3999,
        first + 4000,
        1_770_059_106_789_123,
        last - 4000,
        last - 1,
        last,
        7_258_118_400_000_000,
    ] {
        let sql = "SELECT sno_min($1)::text, sno_max($1)::text";
        let row = client.query_one(sql, &[&at(us)]).await.unwrap();
        let bounds = [Sno::min(at(us)), Sno::max(at(us))].map(|id| id.to_string());
        same(bounds, [row.get::<_, String>(0), row.get(1)], format!("bounds of {}", us));
    }
}

fn refuses() {
    let text = "brpk4q72xwf2m63l";
    let id: Sno = text.parse().unwrap();
    let others = [
        String::new(),
        text.to_uppercase(),
        format!("{}2", text),
        text[1..].into(),
        format!("{}\n", text),
        format!("{}\n{}", &text[..8], &text[9..]),
        format!("1{}", &text[1..]),
        format!("y{}", &text[1..]),
        format!("{}é", &text[2..]),
        "\u{1f600}".repeat(4),
        "\0".repeat(16),
    ];
    for wrong in others {
        ok(wrong.parse::<Sno>().is_err(), format!("text {:?}", wrong), "is read");
    }
    for (place, name) in [(6, "version"), (8, "variant"), (10, "zeros"), (15, "last zeros")] {
        let mut wrong = id.to_uuidv8();
        wrong[place] ^= 0x41;
        ok(Sno::from_uuid(wrong).is_err(), format!("uuid with another {}", name), wrong);
    }
    same(
        Sno::from_uuid([0; 16]).unwrap_err().to_string(),
        "not the uuid of an id: 00000000000000000000000000000000",
        "uuid of zeros",
    );
    for line in vectors("mistakes.tsv") {
        let (kind, text) = (&line[0], line.get(1).map_or("", String::as_str));
        let error = text.parse::<Sno>().unwrap_err().to_string();
        let advised = error.ends_with(')');
        ok(advised && error.contains(kind) || kind == "none" && !advised, format!("advice for {:?}", text), error);
    }
}

fn names() {
    let mut cases = BTreeMap::<String, Vec<Vec<String>>>::new();
    for mut line in vectors("prefixes.tsv") {
        cases.entry(line.remove(0)).or_default().push(line);
    }
    // Numbers that are not metabytes don't fit the type.
    let rows = |kind: &str| -> Vec<(u8, String)> {
        cases[kind].iter().filter_map(|row| Some((row[0].parse().ok()?, row[1].clone()))).collect()
    };
    let prefixes = Prefixes::new(rows("prefix")).unwrap();
    let wrong = rows("badprefix");
    ok(wrong.len() > 10, "wrong prefixes", &wrong);
    for row in wrong {
        let with = rows("prefix").into_iter().chain([row.clone()]);
        ok(Prefixes::new(with).is_err(), format!("prefix {:?}", row), "is taken");
    }
    ok(Prefixes::new([(1, "a"), (1, "b")]).is_err(), "two prefixes of a metabyte", "");
    for row in &cases["id"] {
        let id: Sno = row[1].parse().unwrap();
        same(prefixes.read(&row[0]), Ok(id), format!("read {}", row[0]));
        same(prefixes.write(id).as_ref(), Ok(&row[0]), "and write it");
    }
    for row in cases["badid"].iter().map(|row| &row[0][..]).chain(["user_brpk4q725cf2m63l\n", "user_\0rpk4q725cf2m63l"])
    {
        ok(prefixes.read(row).is_err(), format!("text {:?}", row), "is read");
    }
    let none: Sno = cases["noprefix"][0][0].parse().unwrap();
    same(prefixes.prefix(none), None, "a metabyte without a prefix");
    ok(prefixes.write(none).is_err(), "so it can't be written", none);
    ok(Prefixes::new([(2, "user\n")]).is_err(), "a prefix with a line feed", "");
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct Document {
    id: Sno,
    none: Option<Sno>,
    names: BTreeMap<Sno, String>,
}

fn json() {
    let id: Sno = "brpk4q72xwf2m63l".parse().unwrap();
    let document = Document { id, none: None, names: BTreeMap::from([(id, "Ada".into())]) };
    let text = serde_json::to_string(&document).unwrap();
    same(&text[..], r#"{"id":"brpk4q72xwf2m63l","none":null,"names":{"brpk4q72xwf2m63l":"Ada"}}"#, "JSON");
    same(serde_json::from_str::<Document>(&text).unwrap(), document, "JSON back");
    let error = serde_json::from_str::<Sno>("\"x\"").unwrap_err().to_string();
    ok(error.starts_with("not an id: \"x\""), "a wrong id in JSON", error);
    same(format!("{:?} [{:>18}]", id, id), "Sno(brpk4q72xwf2m63l) [  brpk4q72xwf2m63l]", "formats");
    same(HashMap::from([(id, 1)])[&Sno::from_bytes(id.to_bytes())], 1, "an id as the key of a map");
}

fn main() {
    tap::run(async {
        let lines = vectors("sno.tsv");
        ok(lines.len() > 250, "sno.tsv", lines.len());
        let ids = reads_and_writes(&lines);
        same(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids differ");
        database(ids).await;
        refuses();
        names();
        json();
    });
}
