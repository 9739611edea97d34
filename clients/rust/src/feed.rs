use std::collections::hash_map::RandomState;
use std::error::Error as _;
use std::fmt::{self, Display};
use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};

const WAIT: Duration = Duration::from_secs(5); // of one statement
const FIRST_DELAY: Duration = Duration::from_millis(100); // after an error
const LAST_DELAY: Duration = Duration::from_secs(5); // after many

/// Reads the rows of a feed of the extension sno_feeds, as one of its readers.  Each batch of rows
/// is leased to it, and acknowledged by the next call of `next`.  Each statement is a transaction
/// of its own.
pub struct Feed<C> {
    /// The maximum number of rows in a batch, by default 1000.
    pub max_rows: u32,
    /// The time for a batch, by default a minute.
    pub lease: Duration,
    /// The time until a row that failed comes again, by default a second.
    pub retry_after: Duration,
    /// Gets the errors after which the feed goes on.  By default, they are written to standard error.
    pub on_error: Box<dyn FnMut(&Error) + Send>,
    /// If it is true, `next` returns no more batches.  A feed that waits ends within 5 s.
    pub stop: Arc<AtomicBool>,
    connect: C,
    client: Option<Client>,
    feed: String,          // a literal, as the program names it
    reader: String,        // a literal
    table: Option<String>, // the qualified name
    leased: Option<Leased>,
}

/// The lease of a batch
struct Leased {
    part: String,
    fence: String,
    since: Instant, // when it began or was extended, or earlier
    failure: Option<Failure>,
}

struct Failure {
    id: String,    // SQL
    cause: String, // SQL
    retry_after: Duration,
}

/// Rows of a part of a feed, in their order.
pub struct Batch<'a, C> {
    /// The rows.  A program that handles them without `next` must do so within the lease.
    pub rows: Vec<Row>,
    /// The time until a row that failed comes again.  It begins as `retry_after` of the feed.
    pub retry_after: Duration,
    feed: &'a mut Feed<C>,
    next: usize,
}

/// A row of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key of the row, or the id of the change.
    pub id: String,
    /// Only a feed of changes has deleted rows.  Only their keys are not null.
    pub deleted: bool,
    /// The row as a JSON object whose keys are the columns.
    pub item: String,
}

impl<C, F> Feed<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Client, Error>>,
{
    /// Returns a feed of a table, whose name is written as in SQL.  `connect` opens a connection,
    /// at first and after a connection was lost.
    pub fn new(connect: C, feed: &str, reader: &str) -> Feed<C> {
        let name = format!("sno: feed {}, reader {}", feed, reader);
        Feed {
            max_rows: 1000,
            lease: Duration::from_secs(60),
            retry_after: Duration::from_secs(1),
            on_error: Box::new(move |error| eprintln!("{}: {}", name, Causes(error))),
            stop: Arc::default(),
            connect,
            client: None,
            feed: literal(feed),
            reader: literal(reader),
            table: None,
            leased: None,
        }
    }

    /// Acknowledges the last batch, or reports the row that failed, and waits for the next batch.
    /// Returns `None` if the feed is stopped.  Don't drop the future before its end: rows that it
    /// had leased would come again only after the time of the lease.
    pub async fn next(&mut self) -> Result<Option<Batch<'_, C>>, Error> {
        if let Some(leased) = &self.leased {
            let ending = self.ending(leased);
            self.run_leased(&ending).await?;
            self.leased = None;
        }
        while !self.is_stopped() {
            let rows = self.take().await?;
            if !rows.is_empty() {
                return Ok(Some(Batch { rows, retry_after: self.retry_after, feed: self, next: 0 }));
            }
            if !self.is_stopped() {
                let wait = self.call("CALL sno_feed_wait", &[&interval(WAIT)]);
                self.run(&wait).await?;
            }
        }
        Ok(None)
    }

    /// Gives back the rows of the last batch, if it was not acknowledged because the program left
    /// its loop.  They come again at once, and no try counts, unless a row failed.
    pub async fn close(mut self) {
        if let Some(mut leased) = self.leased.take() {
            let null = || "NULL".to_owned();
            leased.failure.get_or_insert_with(|| Failure { id: null(), cause: null(), retry_after: Duration::ZERO });
            let ending = self.ending(&leased);
            match tokio::time::timeout(WAIT, self.run_once(&ending)).await {
                Ok(Err(error)) => (self.on_error)(&error),
                Ok(Ok(_)) | Err(_) => {}
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns a call with the feed, the reader and these arguments.
    fn call(&self, procedure: &str, arguments: &[&str]) -> String {
        let name = self.table.as_deref().map_or_else(|| self.feed.clone(), literal);
        format!("{}({}, {}, {})", procedure, name, self.reader, arguments.join(", "))
    }

    /// Returns the statement that ends the lease of a batch.
    fn ending(&self, Leased { part, fence, failure, .. }: &Leased) -> String {
        match failure {
            None => self.call("SELECT sno_feed_done", &[part, fence]),
            Some(Failure { id, cause, retry_after }) => {
                self.call("SELECT sno_feed_fail", &[part, fence, id, cause, &interval(*retry_after)])
            }
        }
    }

    /// Leases the next rows, and returns them.
    async fn take(&mut self) -> Result<Vec<Row>, Error> {
        if self.table.is_none() {
            let name = format!(
                "SELECT pg_catalog.format('%s.%I', relnamespace::pg_catalog.regnamespace, relname)
                 FROM pg_catalog.pg_class WHERE oid = {}::pg_catalog.text::pg_catalog.regclass",
                self.feed
            );
            self.table = self.run(&name).await?.first().map(|row| text(row, 0));
        }
        let table = match &self.table {
            Some(table) => table,
            None => return Ok(Vec::new()), // the feed was stopped while the server was away
        };
        let arguments = format!("NULL::{}, {}, {}, {}", table, self.reader, self.max_rows, interval(self.lease));
        let take = format!("SELECT part, fence, id, deleted, to_json(item) FROM sno_feed_take({})", arguments);
        let since = Instant::now();
        let found = self.run(&take).await?;
        self.leased = found.first().map(|row| Leased { part: text(row, 0), fence: text(row, 1), since, failure: None });
        Ok(found.iter().map(|row| Row { id: text(row, 2), deleted: text(row, 3) == "t", item: text(row, 4) }).collect())
    }

    /// Runs a statement that needs the lease of the batch, and returns false if the lease was lost.
    /// After a connection was lost, the first run may have ended the lease.
    async fn run_leased(&mut self, statement: &str) -> Result<bool, Error> {
        match self.run(statement).await {
            Err(error) if state(&error) == Some("55P03") => {
                (self.on_error)(&error);
                Ok(false)
            }
            result => result.map(|_| true),
        }
    }

    /// Runs a statement, again and again while the server is away.  If the feed is stopped
    /// meanwhile, it returns nothing.
    async fn run(&mut self, statement: &str) -> Result<Vec<SimpleQueryRow>, Error> {
        let mut delay = FIRST_DELAY;
        loop {
            match self.run_once(statement).await {
                Err(error) if is_transient(&error) => {
                    self.client = None;
                    (self.on_error)(&error);
                }
                result => return result,
            }
            if self.is_stopped() {
                return Ok(Vec::new());
            }
            let half = delay / 2;
            let random = RandomState::new().build_hasher().finish() % half.as_micros() as u64;
            tokio::time::sleep(half + Duration::from_micros(random)).await;
            delay = LAST_DELAY.min(2 * delay);
        }
    }

    async fn run_once(&mut self, statement: &str) -> Result<Vec<SimpleQueryRow>, Error> {
        let client = match self.client.take() {
            Some(client) => client,
            None => (self.connect)().await?,
        };
        let messages = self.client.insert(client).simple_query(statement).await?;
        Ok(messages
            .into_iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            })
            .collect())
    }
}

impl<C, F> Batch<'_, C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Client, Error>>,
{
    /// Returns the next row, unless a row failed or the lease is lost.  It extends the lease if
    /// more than half of its time has passed.
    pub async fn next(&mut self) -> Result<Option<Row>, Error> {
        let lease = self.feed.lease;
        if let (Some(leased), true) = (&self.feed.leased, self.has_next()) {
            if leased.since.elapsed() > lease / 2 {
                let since = Instant::now();
                let arguments = [&leased.part[..], &leased.fence, &interval(lease)];
                let extend = self.feed.call("SELECT sno_feed_extend", &arguments);
                if !self.feed.run_leased(&extend).await? {
                    self.feed.leased = None;
                } else if let Some(leased) = &mut self.feed.leased {
                    leased.since = since;
                }
            }
        }
        if !self.has_next() {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(self.rows[self.next - 1].clone()))
    }
}

impl<C> Batch<'_, C> {
    fn has_next(&self) -> bool {
        self.next < self.rows.len() && matches!(&self.feed.leased, Some(leased) if leased.failure.is_none())
    }

    /// Reports that a row could not be handled.  For a batch, only the first call counts.  When
    /// the batch ends, the rows before this row are acknowledged.  This row and the rows after it
    /// come again, unless this row is set aside.  If the row is `None`, one of the rows failed, and
    /// all come again one by one.  If the cause is `None`, no row is to blame, and no try counts.
    ///
    /// # Panics
    ///
    /// If the row is not one of the batch.
    pub fn fail(&mut self, row: Option<&Row>, cause: Option<&dyn Display>) {
        if let Some(row) = row {
            assert!(self.rows.iter().any(|each| each.id == row.id), "row {:?} is not one of the batch", row.id);
        }
        if let Some(leased) = &mut self.feed.leased {
            leased.failure.get_or_insert_with(|| Failure {
                id: row.map_or_else(|| "NULL".into(), |row| literal(&row.id)),
                cause: cause.map_or_else(|| "NULL".into(), |cause| literal(&cause.to_string())),
                retry_after: self.retry_after,
            });
        }
    }

    /// Returns the part of the feed.  It is -1 for a row that was set aside, and is tried again.
    pub fn part(&self) -> i32 {
        self.feed.leased.as_ref().and_then(|leased| leased.part.parse().ok()).unwrap_or_default()
    }
}

/// Writes an error with its causes, because the error of a driver names only its kind.
struct Causes<'a>(&'a Error);

impl Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(cause) => write!(f, "{}: {}", self.0, cause),
            None => self.0.fmt(f),
        }
    }
}

/// Was a connection lost or refused, is the server a standby, or should the statement be run again?
fn is_transient(error: &Error) -> bool {
    match state(error) {
        Some(state) => {
            state.starts_with("08")
                || ["57P01", "57P02", "57P03", "57P04", "57P05", "53300", "25006", "40001", "40P01"].contains(&state)
        }
        None => error.is_closed() || error.source().map_or(false, |cause| cause.is::<io::Error>()),
    }
}

fn state(error: &Error) -> Option<&str> {
    error.code().map(|state| state.code())
}

fn text(row: &SimpleQueryRow, column: usize) -> String {
    row.get(column).unwrap_or_default().to_owned()
}

/// Returns a text as SQL, whatever `standard_conforming_strings` is.
fn literal(text: impl AsRef<str>) -> String {
    let escaped = text.as_ref().replace('\\', "\\\\").replace('\'', "''").replace('\0', "\\\\0");
    format!("E'{}'", escaped)
}

fn interval(duration: Duration) -> String {
    format!("'{} microseconds'", duration.as_micros())
}
