//! tokio-postgres, and the examples of clients/rust/README.md but for feeds.

mod tap;

// README.md: import
use std::error::Error;
use std::time::{Duration, SystemTime};

use futures_util::{pin_mut, SinkExt, TryStreamExt};
use tap::{ok, same};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

type AnyError = Box<dyn Error + Send + Sync>;

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.get(0)).collect()
}

fn ids() -> Result<Sno, AnyError> {
    // README.md: ids
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_936_047_814_976);
    same((id.time(), id.meta()), (time, 255), "the time of an id, and its metabyte");
    Ok(id)
}

fn prefixed() -> Result<(), AnyError> {
    let id: Sno = "9d5ve82226224222".parse()?;
    // README.md: prefixes
    same((again, &text[..]), (id, "user_9d5ve82226224222"), "with a prefix, there and back");
    Ok(())
}

async fn readme(client: &Client) -> Result<(), AnyError> {
    // README.md: tokio-postgres
    same(names(&some), ["Ada"], "= ANY");
    same(names(&recent), ["Ada"], "a search by time");
    same(related, [Some(ada), None], "an array with a null");
    Ok(())
}

/// Fails with this state of the server, or in the client.
async fn fails(client: &Client, sql: &str, parameter: &(dyn ToSql + Sync), wanted: Option<&str>, name: &str) {
    match client.query(sql, &[parameter]).await {
        Ok(rows) => ok(false, name, rows),
        Err(error) => same(error.code().map(|state| state.code()), wanted, name),
    }
}

async fn values(client: &Client) -> Result<(), AnyError> {
    let ada: Sno = client.query_one("SELECT id FROM customers", &[]).await?.get(0);
    let bob: Sno = client.query_one("INSERT INTO customers (name) VALUES ('Bob') RETURNING id", &[]).await?.get(0);
    let order: Sno =
        client.query_one("INSERT INTO orders (customer_id) VALUES ($1) RETURNING id", &[&bob]).await?.get(0);
    let sql = "SELECT name FROM customers WHERE id = ANY ($1) ORDER BY id";
    same(names(&client.query(sql, &[&&[bob, ada][..]]).await?), ["Ada", "Bob"], "= ANY, a slice");
    same(client.query(sql, &[&Vec::<Sno>::new()]).await?.len(), 0, "= ANY, empty");
    let sql = "SELECT c.name FROM customers AS c JOIN orders AS o ON c.id = o.customer_id WHERE o.id = $1";
    same(names(&client.query(sql, &[&order]).await?), ["Bob"], "join");
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let sql = "SELECT name FROM customers WHERE id <@ tstzrange($1, $2) ORDER BY id";
    same(names(&client.query(sql, &[&(now - hour), &(now + hour)]).await?), ["Ada", "Bob"], "id <@ tstzrange");
    same(client.query(sql, &[&None::<SystemTime>, &(now - hour)]).await?.len(), 0, "before");
    let sql = "SELECT name FROM customers WHERE id BETWEEN $1 AND $2 ORDER BY id";
    same(names(&client.query(sql, &[&Sno::min(ada.time()), &Sno::max(bob.time())]).await?), ["Ada", "Bob"], "bounds");

    let row = client.query_one("SELECT $1::sno, $2::sno", &[&Some(ada), &None::<Sno>]).await?;
    same((row.get(0), row.get(1)), (Some(ada), None::<Sno>), "NULL");
    ok(row.try_get::<_, Sno>(1).is_err(), "NULL is not an id", "");
    // Both ends, and some ids between them, in each form
    let sql = "SELECT id, id::text, id::varchar, id::bytea, id::text::char(16) FROM (
            SELECT sno_zero() UNION ALL SELECT sno_max('infinity')
            UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)
        WHERE $1::sno IS NULL OR ($1, $2, $3, $4, $5) = (id, id::text, id::varchar, id::bytea, id::text::char(16))";
    let rows = client.query(sql, &[&None::<Sno>; 5].map(|none| none as &(dyn ToSql + Sync))).await?;
    let found: Vec<Sno> = rows.iter().map(|row| row.get(0)).collect();
    same(found.len(), 258, "results");
    let all: Vec<[Sno; 5]> = rows.iter().map(|row| [0, 1, 2, 3, 4].map(|i| row.get(i))).collect();
    same(all, found.iter().map(|&id| [id; 5]).collect::<Vec<_>>(), "as sno, text, varchar, bytea and char");
    let texts: Vec<&str> = rows.iter().map(|row| row.get(1)).collect();
    same(texts, found.iter().map(Sno::to_string).collect::<Vec<_>>(), "their texts");
    for id in [found[0], found[1]] {
        let rows = client.query(sql, &[&id; 5].map(|id| id as &(dyn ToSql + Sync))).await?;
        same(rows.iter().map(|row| row.get(0)).collect::<Vec<Sno>>(), [id], "and as parameters");
    }
    let back: Vec<Sno> = client.query_one("SELECT $1::sno[]", &[&found]).await?.get(0);
    same(back, found, "an array there and back");

    client
        .batch_execute(
            "CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1);
        CREATE DOMAIN later_id AS user_id; CREATE DOMAIN short AS text; CREATE TYPE public.sno AS (id text)",
        )
        .await?;
    let row = client.query_one("SELECT $1::user_id, $1::later_id, $2::short", &[&ada, &ada]).await?;
    same([0, 1, 2].map(|i| row.get::<_, Sno>(i)), [ada; 3], "domains");
    fails(client, "SELECT $1::user_id", &order, Some("23514"), "their check").await;
    fails(client, "SELECT $1::public.sno", &ada, None, "another type of that name").await;
    fails(client, "SELECT $1::int", &ada, None, "an integer").await;
    fails(client, "SELECT $1::text::sno", &"not an id", Some("22P02"), "a wrong id: 22P02").await;
    fails(client, "SELECT $1::text::sno", &ada.to_string().to_uppercase(), Some("22P02"), "uppercase: 22P02").await;
    fails(client, "SELECT $1::sno", &"not an id", None, "a text is not an id").await;
    let row = client.query_one("SELECT 'not an id'::text, '\\x00'::bytea, 1", &[]).await?;
    for i in 0..3 {
        ok(row.try_get::<_, Sno>(i).is_err(), format!("a wrong value of type {}", row.columns()[i].type_()), "");
    }
    client
        .batch_execute("DROP TYPE public.sno; DROP DOMAIN later_id, user_id, short; TRUNCATE customers, orders")
        .await?;
    Ok(())
}

async fn copies(client: &Client) -> Result<(), AnyError> {
    let made = client.query("SELECT id FROM sno_generate_many(1000, 1) AS id", &[]).await?;
    let ids: Vec<Sno> = made.iter().map(|row| row.get(0)).collect();
    let columns = client.prepare("SELECT id, related FROM orders").await?;
    let types: Vec<Type> = columns.columns().iter().map(|column| column.type_().clone()).collect();
    client.batch_execute("ALTER TABLE orders ALTER customer_id DROP NOT NULL").await?;
    let sink = client.copy_in("COPY orders (id, related) FROM STDIN (FORMAT binary)").await?;
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for &id in &ids {
        writer.as_mut().write(&[&id, &vec![Some(id), None]]).await?;
    }
    same(writer.finish().await?, 1000, "COPY FROM, in binary");
    let stream = client.copy_out("COPY (SELECT id, related FROM orders ORDER BY id) TO STDOUT (FORMAT binary)").await?;
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &types).try_collect().await?;
    let back: Vec<(Sno, Vec<Option<Sno>>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    same(back, ids.iter().map(|&id| (id, vec![Some(id), None])).collect::<Vec<_>>(), "COPY TO, in binary");

    let sink = client.copy_in("COPY customers (id, name) FROM STDIN").await?;
    pin_mut!(sink);
    sink.send(bytes::Bytes::from("not an id\tAda\n")).await?;
    let state = sink.finish().await.map_err(|error| error.code().map(|state| state.code().to_owned()));
    same(state, Err(Some("22P02".into())), "a wrong id in COPY: 22P02");
    Ok(())
}

async fn test() -> Result<(), AnyError> {
    let client = tap::open(tap::config()).await?;
    same(ids()?, Sno::from_bytes(ids()?.to_bytes()), "an id");
    prefixed()?;
    readme(&client).await?;
    values(&client).await?;
    copies(&client).await
}

fn main() {
    tap::run(async { test().await.unwrap() });
}
