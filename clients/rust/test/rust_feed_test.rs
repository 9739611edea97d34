//! Feeds: the example of clients/rust/README.md, and readers that fail, are late, or lose their connections.

mod tap;

use std::env;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};
use sno::{Batch, Feed, Row};
use tap::{ok, same};
use tokio_postgres::{Client, Config, Error, NoTls};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

// Names that need quotes
const TABLE: &str = r#""Out ""box""#;
const PLACES: &str = r#""Out ""box_readers""#;
const READER: &str = r"o'neil\";
const HOUR: Duration = Duration::from_secs(3600);

/// Statements of the test.  They change whole tables, so a text has no parameters.
struct Checks(Client);

impl Checks {
    async fn exec(&self, sql: &str) {
        self.0.batch_execute(sql).await.unwrap_or_else(|error| panic!("{}: {:?}", sql, error));
    }

    async fn value(&self, sql: &str) -> String {
        self.0.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{}: {:?}", sql, error)).get(0)
    }

    async fn until(&self, condition: &str) {
        while self.value(&format!("SELECT ({})::text", condition)).await != "true" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns when readers can have the rows.
    async fn insert(&self, messages: &[&str]) {
        for message in messages {
            self.exec(&format!("INSERT INTO {} (message) VALUES ('{}')", TABLE, message)).await;
        }
        self.until(&format!("SELECT max(id) < (SELECT sno_watermark()) FROM {}", TABLE)).await;
    }

    /// Deletes the rows, and creates the reader again, for these rows.
    async fn restart(&self, messages: &[&str]) {
        self.exec(&format!("TRUNCATE {}; SELECT sno_feed_drop_reader('{0}', '{}')", TABLE, ESCAPED)).await;
        self.exec(&format!("SELECT sno_feed_create_reader('{}', '{}', max_tries => 2)", TABLE, ESCAPED)).await;
        self.insert(messages).await;
    }

    /// The state of the reader's place, without part -1
    async fn state(&self) -> String {
        self.value(&format!(
            "SELECT CASE WHEN upto IS NOT NULL THEN 'leased' WHEN position > (SELECT max(id) FROM {}) THEN 'all done'
                 ELSE 'free' END || ', tries: ' || tries
             FROM {} WHERE reader = '{}' AND part = 0",
            TABLE, PLACES, ESCAPED
        ))
        .await
    }

    async fn rewind(&self, to: &str) {
        self.exec(&format!("SELECT sno_feed_rewind('{}', '{}', '{}')", TABLE, ESCAPED, to)).await;
    }

    /// A value of the rows that were set aside
    async fn aside(&self, columns: &str) -> String {
        self.value(&format!("SELECT {} FROM sno_feed_aside(NULL::{}, '{}')", columns, TABLE, ESCAPED)).await
    }

    /// Returns when a reader waits, which has the name "fed".
    async fn until_waiting(&self) {
        self.until(
            "SELECT count(*) = 1 FROM pg_stat_activity
            WHERE application_name = 'fed' AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'",
        )
        .await;
    }
}

const ESCAPED: &str = r"o''neil\";

async fn checks() -> Checks {
    Checks(tap::open(tap::config()).await.unwrap())
}

/// A feed that must have no errors
fn quiet<C, F>(connect: C) -> Feed<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Client, Error>>,
{
    let mut feed = Feed::new(connect, TABLE, READER);
    feed.retry_after = Duration::ZERO;
    feed.on_error = Box::new(|error| panic!("{:?}", error));
    feed
}

/// The errors after which a feed went on: their states, or "connection"
type Errors = Arc<Mutex<Vec<String>>>;

fn collect<C>(feed: &mut Feed<C>) -> Errors {
    let errors = Errors::default();
    let all = errors.clone();
    feed.on_error = Box::new(move |error| {
        all.lock().unwrap().push(error.code().map_or("connection", |state| state.code()).to_owned());
    });
    errors
}

fn fed() -> Config {
    let mut config = tap::config();
    config.application_name("fed");
    config
}

fn open() -> impl Future<Output = Result<Client, Error>> {
    tap::open(fed())
}

fn message(row: &Row) -> String {
    let item: Value = serde_json::from_str(&row.item).unwrap();
    item["message"].as_str().unwrap().to_owned()
}

fn messages<C>(batch: &Batch<'_, C>) -> String {
    batch.rows.iter().map(message).collect::<Vec<_>>().join(" ")
}

static SENT: Mutex<Vec<String>> = Mutex::new(Vec::new());

async fn send(message: &Value) -> Result<(), &'static str> {
    let mut sent = SENT.lock().unwrap();
    if message == "mail 2" && sent.len() == 1 {
        sent.push("failed".into());
        return Err("mailbox full");
    }
    sent.push(message.as_str().unwrap().into());
    Ok(())
}

async fn terminated() {
    while SENT.lock().unwrap().len() < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

// README.md: connect

async fn readme(checks: &Checks) -> Result<(), AnyError> {
    checks
        .exec(
            "CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL);
        SELECT sno_feed_create('outbox');
        SELECT sno_feed_create_reader('outbox', 'mail');
        INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n",
        )
        .await;
    let config = tap::config();
    let mut url = format!("application_name=fed connect_timeout=5 user={}", config.get_user().unwrap());
    for (key, name) in [("host", "PGHOST"), ("port", "PGPORT"), ("password", "PGPASSWORD"), ("dbname", "PGDATABASE")] {
        url += &env::var(name).map_or(String::new(), |value| format!(" {}={}", key, value));
    }
    env::set_var("DATABASE_URL", url);
    // README.md: feed
    same(&SENT.lock().unwrap()[..], ["mail 1", "failed", "mail 2", "mail 3"], "README's example");
    same(
        checks
            .value(
                "SELECT (position > (SELECT max(id) FROM outbox))::text FROM outbox_readers
        WHERE reader = 'mail' AND part = 0",
            )
            .await,
        "true",
        "all is acknowledged",
    );
    Ok(())
}

/// Rows come while a reader waits, and the reader is stopped while it has a batch.
async fn in_order(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a", "b", "c"]).await;
    let other = tokio::spawn(async {
        let checks = self::checks().await;
        checks.until_waiting().await;
        checks.insert(&["d"]).await;
    });
    let mut feed = quiet(open);
    feed.max_rows = 2;
    let stop = feed.stop.clone();
    let (mut seen, mut sizes) = (String::new(), Vec::new());
    while let Some(mut batch) = feed.next().await? {
        sizes.push(batch.rows.len());
        same(batch.part(), 0, "its part");
        while let Some(row) = batch.next().await? {
            let item: Value = serde_json::from_str(&row.item).unwrap();
            let message = item["message"].as_str().unwrap();
            same(
                &item,
                &json!({"id": row.id, "part": "mine", "fence": 7, "deleted": "no", "message": message}),
                "all columns of a row",
            );
            ok(!row.deleted, "it is not deleted", &row);
            seen += message;
        }
        stop.store(seen == "abcd", Ordering::Relaxed);
    }
    same((&seen[..], sizes), ("abcd", vec![2, 1, 1]), "rows in their order, and sizes of batches");
    same(checks.state().await, "all done, tries: 0", "the last batch is acknowledged, too");
    other.await.unwrap();
    Ok(())
}

/// A program that leaves its loop acknowledges nothing, and no row is to blame.
async fn left(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a", "b"]).await;
    for _ in 0..2 {
        let mut feed = quiet(open);
        let batch = feed.next().await?.unwrap();
        same(messages(&batch), "a b", "a batch");
        same(checks.state().await, "leased, tries: 0", "is not acknowledged yet");
        feed.close().await;
        same(checks.state().await, "free, tries: 0", "the rows are given back");
    }
    let mut feed = quiet(open);
    let mut batch = feed.next().await?.unwrap();
    same(messages(&batch), "a b", "and come again at once, and together");
    let last = batch.rows[1].clone();
    batch.fail(Some(&last), Some(&"full"));
    feed.close().await;
    same(checks.state().await, "free, tries: 1", "a row that failed before the loop was left counts a try");
    quiet(open).close().await;
    Ok(())
}

async fn failed(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a", "bad", "c", "d"]).await;
    let mut feed = quiet(open);
    let stop = feed.stop.clone();
    let (mut seen, mut handled) = (Vec::new(), String::new());
    while let Some(mut batch) = feed.next().await? {
        seen.push(messages(&batch));
        while let Some(row) = batch.next().await? {
            if message(&row) == "bad" {
                batch.fail(Some(&row), Some(&"it's \\ \0wrong"));
                batch.fail(None, Some(&"not the first"));
            } else {
                handled += &message(&row);
            }
        }
        stop.store(handled.ends_with('d'), Ordering::Relaxed);
    }
    same(seen, ["a bad c d", "bad", "c d"], "a row that failed comes again alone, and is set aside");
    same(handled, "acd", "a batch ends with the row that failed");
    same(checks.aside("tries || ' ' || error").await, "2 it's \\ \\0wrong", "with its error");
    same(checks.state().await, "all done, tries: 0", "the other rows are acknowledged");

    checks.exec(&format!("SELECT sno_feed_retry('{}', '{}')", TABLE, ESCAPED)).await;
    let mut feed = quiet(open);
    let batch = feed.next().await?.unwrap();
    same((batch.part(), messages(&batch)), (-1, "bad".into()), "a row that was set aside is retried, as part -1");
    feed.close().await;
    same(checks.aside("tries::text").await, "2", "and no try counts");
    checks.insert(&["e"]).await;
    let other = tokio::spawn(async {
        let mut feed = quiet(open);
        let row = Row { id: "1".into(), deleted: false, item: String::new() };
        feed.next().await.unwrap().unwrap().fail(Some(&row), Some(&"wrong"));
    });
    ok(other.await.unwrap_err().is_panic(), "a row of another batch can't fail", "");
    Ok(())
}

/// The program doesn't know which row failed, or it was no row's fault.
async fn unknown(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a", "b"]).await;
    let mut feed = quiet(open);
    let mut seen = Vec::new();
    for cause in [None, None, Some("one is bad"), None, None] {
        let mut batch = feed.next().await?.unwrap();
        seen.push(format!("{}: {}", messages(&batch), checks.state().await));
        match (cause, seen.len()) {
            (Some(cause), _) => batch.fail(None, Some(&cause)),
            (None, 1 | 2) => batch.fail(None, None),
            (None, _) => {}
        }
    }
    feed.stop.store(true, Ordering::Relaxed);
    ok(feed.next().await?.is_none(), "the feed is stopped", "");
    let wanted = [
        "a b: leased, tries: 0",
        "a b: leased, tries: 0",
        "a b: leased, tries: 0",
        "a: leased, tries: 0",
        "b: leased, tries: 0",
    ];
    same(seen, wanted, "rows come one by one");
    same(checks.state().await, "all done, tries: 0", "and are acknowledged");
    Ok(())
}

/// The lease is extended, or lost between two rows, or at the end.
async fn leases(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a", "b", "c"]).await;
    let begins = format!("SELECT busy_at::text FROM {} WHERE upto IS NOT NULL", PLACES);
    let mut feed = quiet(open);
    let errors = collect(&mut feed);
    // A lease that is nearly over is always extended, and a lease of an hour is not.
    let mut extended = Vec::new();
    for lease in [HOUR, Duration::from_millis(1)] {
        checks.rewind("oldest").await;
        feed.lease = lease;
        let mut batch = feed.next().await?.unwrap();
        for name in ["the first row", "another row"] {
            let before = checks.value(&begins).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            ok(batch.next().await?.is_some(), name, "");
            extended.push(checks.value(&begins).await > before);
        }
        ok(batch.next().await?.is_some() && batch.next().await?.is_none(), "the batch ends", "");
    }
    same(extended, [false, false, true, true], "the lease is extended");
    feed.lease = HOUR;
    checks.insert(&["d"]).await;
    same(messages(&feed.next().await?.unwrap()), "d", "the rows are acknowledged");
    same(&errors.lock().unwrap()[..], ["55P03"], "but for the batch that was taken back");
    errors.lock().unwrap().clear();

    for between in [true, false] {
        checks.rewind("oldest").await;
        feed.lease = if between { Duration::from_millis(1) } else { HOUR };
        let mut batch = feed.next().await?.unwrap();
        same(messages(&batch), "a b c d", "the feed goes on with all rows");
        ok(batch.next().await?.is_some(), "a row", "");
        if between {
            tokio::time::sleep(Duration::from_millis(1)).await;
            checks.rewind("oldest").await;
            ok(batch.next().await?.is_none(), "the lease is lost", "");
            let row = batch.rows[0].clone();
            batch.fail(Some(&row), Some(&"too late"));
        }
    }
    feed.close().await;
    same(&errors.lock().unwrap()[..], ["55P03", "55P03"], "which is reported");
    same(checks.state().await, "free, tries: 0", "the rows come again");
    Ok(())
}

/// The server is away: a socket that isn't there, a standby, a connection that was terminated.
async fn away(checks: &Checks) -> Result<(), Error> {
    checks.restart(&["a"]).await;
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    let mut feed = quiet(|| {
        let mut config = Config::new();
        config.host("/nowhere").user("nobody");
        match OPENED.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            1 => config = fed().options("-c default_transaction_read_only=on").clone(),
            _ => config = fed(),
        }
        tap::open(config)
    });
    let errors = collect(&mut feed);
    same(messages(&feed.next().await?.unwrap()), "a", "the server comes back");
    same(&errors.lock().unwrap()[..], ["connection", "25006"], "after errors, which are reported");
    errors.lock().unwrap().clear();

    let terminate = |then: &'static str| async move {
        let checks = self::checks().await;
        checks.until_waiting().await;
        checks
            .exec("SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity WHERE application_name = 'fed'")
            .await;
        checks.insert(&[then]).await;
    };
    let other = tokio::spawn(terminate("b"));
    same(messages(&feed.next().await?.unwrap()), "b", "a connection is lost while the feed waits");
    other.await.unwrap();
    same(errors.lock().unwrap().first().map(String::as_str), Some("57P01"), "which is reported");
    checks.exec("SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity WHERE application_name = 'fed'").await;
    feed.stop.store(true, Ordering::Relaxed);
    let stopped = feed.next().await?.is_none();
    ok(stopped, "a connection is lost while the feed has a batch, and the feed is stopped", "");
    same(checks.state().await, "leased, tries: 0", "the batch is not acknowledged");

    let mut feed = quiet(|| tap::open(Config::new().host("/nowhere").user("nobody").clone()));
    let stop = feed.stop.clone();
    feed.on_error = Box::new(move |_| stop.store(true, Ordering::Relaxed));
    ok(feed.next().await?.is_none(), "a server that doesn't come back, until the feed is stopped", "");
    Ok(())
}

/// Changes of a table: the rows that it had, and then its updates and deletes
async fn changes(checks: &Checks) -> Result<(), Error> {
    checks
        .exec(
            r#"CREATE TABLE "a Person" (fence integer PRIMARY KEY, name text);
        INSERT INTO "a Person" VALUES (1, 'Ada'), (2, 'Bob')"#,
        )
        .await;
    checks.exec(r#"CALL sno_feed_create_changes('"a Person"')"#).await;
    checks.exec(r#"SELECT sno_feed_create_reader('"a Person"', 'copy')"#).await;
    let mut feed = Feed::new(open, r#""a Person""#, "copy");
    let mut seen = Vec::new();
    for (change, count) in
        [("", 2), (r#"UPDATE "a Person" SET name = 'Bea' WHERE fence = 2"#, 3), (r#"DELETE FROM "a Person""#, 5)]
    {
        checks.exec(change).await;
        while seen.len() < count {
            let mut batch = feed.next().await?.unwrap();
            while let Some(row) = batch.next().await? {
                seen.push(format!("{} {}", row.item, row.deleted));
            }
        }
    }
    feed.stop.store(true, Ordering::Relaxed);
    feed.next().await?;
    same(
        seen,
        [
            r#"{"fence":1,"name":"Ada"} false"#,
            r#"{"fence":2,"name":"Bob"} false"#,
            r#"{"fence":2,"name":"Bea"} false"#,
            r#"{"fence":1,"name":null} true"#,
            r#"{"fence":2,"name":null} true"#,
        ],
        "the rows of a table, and their changes",
    );
    Ok(())
}

async fn wrong() {
    let state = |error: Option<Error>| error.and_then(|error| Some(error.code()?.code().to_owned()));
    for (table, reader, wanted) in [
        ("nowhere", "mail", "42P01"),
        ("0", "mail", "42P01"),
        ("customers", "mail", "55000"),
        ("outbox", "nobody", "42704"),
    ] {
        let mut feed = Feed::new(open, table, reader);
        for _ in 0..2 {
            same(state(feed.next().await.err()).as_deref(), Some(wanted), format!("{}, {}", table, reader));
        }
    }
    let mut feed = Feed::new(|| tap::open(fed().user("nobody").password("wrong").clone()), "outbox", "mail");
    let seen = state(feed.next().await.err()).unwrap_or_default();
    ok(seen.starts_with("28"), "nobody", seen);
}

fn is_send<T: Send>(_: &T) {}

async fn test() -> Result<(), AnyError> {
    let checks = checks().await;
    checks.exec("CREATE EXTENSION sno_feeds").await;
    readme(&checks).await?;
    checks
        .exec(&format!(
            "CREATE TABLE {} (id sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
        fence integer DEFAULT 7, deleted text DEFAULT 'no', message text NOT NULL)",
            TABLE
        ))
        .await;
    checks
        .exec(&format!("SELECT sno_feed_create('{}'); SELECT sno_feed_create_reader('{0}', '{}')", TABLE, ESCAPED))
        .await;
    is_send(&quiet(open).next());
    in_order(&checks).await?;
    left(&checks).await?;
    failed(&checks).await?;
    unknown(&checks).await?;
    leases(&checks).await?;
    away(&checks).await?;
    changes(&checks).await?;
    wrong().await;
    Ok(())
}

fn main() {
    tap::run(async { test().await.unwrap() });
}
