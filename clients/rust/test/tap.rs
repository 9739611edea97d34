//! Functions that the tests share.

#![allow(dead_code)]

use std::fmt::{Debug, Display};
use std::future::Future;
use std::process::exit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{env, fs};

use tokio_postgres::{Client, Config, Error, NoTls};

static TESTS: AtomicU32 = AtomicU32::new(0);
static FAILURES: AtomicU32 = AtomicU32::new(0);

pub fn ok(passed: bool, name: impl Display, seen: impl Debug) {
    let number = TESTS.fetch_add(1, Relaxed) + 1;
    if passed {
        println!("ok {} - {}", number, name);
    } else {
        FAILURES.fetch_add(1, Relaxed);
        println!("not ok {} - {}\n# {}", number, name, format!("{:#?}", seen).replace('\n', "\n# "));
    }
}

pub fn same<A: PartialEq<B> + Debug, B: Debug>(seen: A, wanted: B, name: impl Display) {
    ok(seen == wanted, name, (seen, "wanted", wanted));
}

/// The server and the database of the test, which libpq finds by the environment
pub fn config() -> Config {
    let get = |name| env::var(name).ok();
    let mut config = Config::new();
    config.host(&get("PGHOST").expect("PGHOST"));
    get("PGPORT").map(|port| config.port(port.parse().expect("PGPORT")));
    get("PGUSER").map(|user| config.user(&user));
    get("PGPASSWORD").map(|password| config.password(&password));
    get("PGDATABASE").map(|name| config.dbname(&name));
    config
}

pub async fn open(config: Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The lines of a file of test/vectors, without comments, cut at tabs
pub fn vectors(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../test/vectors/{}", env::var("CLIENTS").expect("CLIENTS"), name);
    let lines = fs::read_to_string(path).expect(name);
    let cut = |line: &str| line.split('\t').map(str::to_owned).collect();
    lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(cut).collect()
}

/// Runs the test to its end.
pub fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
    println!("1..{}", TESTS.load(Relaxed));
    exit(i32::from(FAILURES.load(Relaxed) > 0));
}
