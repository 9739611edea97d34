// Feeds: the example of clients/go/README.md, and readers that fail, are late, or lose their connections.

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v4/stdlib"
	_ "github.com/lib/pq"
	"sno.example/clients/go"
)

var (
	db         *sql.DB
	background = context.Background()
)

// Names that need quotes
const (
	table  = `"Out ""box"`
	reader = `o'neil\`
	places = `"Out ""box_readers"`
)

func exec(statement string, args ...any) {
	_, err := db.Exec(statement, args...)
	must(err)
}

func value(query string, args ...any) (text string) {
	must(db.QueryRow(query, args...).Scan(&text))
	return text
}

// insert returns when readers can have the rows.
func insert(messages ...string) {
	for _, message := range messages {
		exec("INSERT INTO "+table+" (message) VALUES ($1)", message)
	}
	for value("SELECT (max(id) < (SELECT sno_watermark()))::text FROM "+table) != "true" {
		time.Sleep(time.Millisecond)
	}
}

// restart deletes the rows, and creates the reader again.
func restart() {
	exec("TRUNCATE " + table)
	exec("SELECT sno_feed_drop_reader($1::text::regclass, $2)", table, reader)
	exec("SELECT sno_feed_create_reader($1::text::regclass, $2, max_tries => 2)", table, reader)
}

// state is the state of the reader's place, without part -1.
func state() string {
	return value(`SELECT CASE WHEN upto IS NOT NULL THEN 'leased'
		WHEN position > (SELECT max(id) FROM `+table+`) THEN 'all done' ELSE 'free' END || ', tries: ' || tries
		FROM `+places+` WHERE reader = $1 AND part = 0`, reader)
}

func newFeed(query sno.Query) *sno.Feed {
	feed := sno.NewFeed(query, table, reader)
	feed.RetryAfter = 0
	feed.OnError = func(err error) { panic(err) }
	return feed
}

type event struct {
	ID      string
	Part    string
	Fence   int
	Deleted string
	Message string
}

func read(row *sno.Row) (e event) {
	must(json.Unmarshal(row.Item, &e))
	return e
}

// messages returns those of the whole batch.
func messages(feed *sno.Feed) string {
	var found []string
	for i := range feed.Batch().Rows {
		found = append(found, read(&feed.Batch().Rows[i]).Message)
	}
	return strings.Join(found, " ")
}

func readme(ctx context.Context) {
	exec("CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)")
	exec("SELECT sno_feed_create('outbox')")
	exec("SELECT sno_feed_create_reader('outbox', 'mail')")
	exec("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var sent []string
	send := func(message string) error {
		if message == "mail 2" && len(sent) == 1 {
			sent = append(sent, "failed")
			return errors.New("mailbox full")
		}
		if sent = append(sent, message); message == "mail 3" {
			stop()
		}
		return nil
	}
	// README.md: feed
	must(err)
	same(sent, []string{"mail 1", "failed", "mail 2", "mail 3"}, "README's example")
	same(value(`SELECT (position > (SELECT max(id) FROM outbox))::text FROM outbox_readers
		WHERE reader = 'mail' AND part = 0`), "true",
		"all is acknowledged")
}

// Rows come while a reader waits, and its context ends while it has a batch.
func inOrder(driver string) {
	other, err := sql.Open(driver, "")
	must(err)
	defer other.Close()
	restart()
	insert("a", "b", "c")
	waited := false
	feed := newFeed(func(ctx context.Context, statement string) ([][]string, error) {
		if strings.HasPrefix(statement, "CALL sno_feed_wait(") && !waited {
			waited = true
			insert("d")
		}
		return sno.DB(other)(ctx, statement)
	})
	feed.MaxRows = 2
	ctx, stop := context.WithCancel(background)
	defer stop()
	seen, sizes := "", ""
	for feed.Next(ctx) {
		batch := feed.Batch()
		sizes += fmt.Sprint(len(batch.Rows))
		for batch.Next() {
			e := read(batch.Row())
			same(e, event{batch.Row().ID, "mine", 7, "no", e.Message}, driver+": all columns of a row")
			same(batch.Row().Deleted, false, driver+": it is not deleted")
			seen += e.Message
		}
		if seen == "abcd" {
			stop()
		}
	}
	same(feed.Err(), nil, driver+": the context ends")
	same(seen+" "+sizes, "abcd 211", driver+": rows in their order, and sizes of batches")
	same(state(), "all done, tries: 0", driver+": the last batch is acknowledged, too")
}

// A program that leaves its loop acknowledges nothing, and no row is to blame.
func left() {
	for _, panics := range []bool{true, false} {
		restart()
		insert("a", "b")
		func() {
			defer func() { same(recover() != nil, panics, "the loop is left") }()
			feed := newFeed(sno.DB(db))
			defer feed.Close()
			for feed.Next(background) {
				same(messages(feed), "a b", "a batch")
				same(state(), "leased, tries: 0", "is not acknowledged yet")
				if panics {
					panic("an error of the program")
				}
				break
			}
		}()
		same(state(), "free, tries: 0", "the rows are given back")
	}
	feed := newFeed(sno.DB(db))
	ok(feed.Next(background), "and come again", feed.Err())
	same(messages(feed), "a b", "at once, and together")
	feed.Batch().Fail(&feed.Batch().Rows[1], errors.New("full"))
	feed.Close()
	same(state(), "free, tries: 1", "a row that failed before the loop was left counts a try")
	feed.Close()
}

func failed() {
	restart()
	insert("a", "bad", "c", "d")
	feed := newFeed(sno.DB(db))
	ctx, stop := context.WithCancel(background)
	defer stop()
	var seen []string
	handled := ""
	for feed.Next(ctx) {
		batch := feed.Batch()
		seen = append(seen, messages(feed))
		for batch.Next() {
			row := batch.Row()
			switch message := read(row).Message; message {
			case "bad":
				batch.Fail(row, errors.New("it's \\ \x00wrong\xff"))
				batch.Fail(nil, errors.New("not the first"))
			case "d":
				stop()
				fallthrough
			default:
				handled += message
			}
		}
	}
	same(feed.Err(), nil, "rows fail")
	same(seen, []string{"a bad c d", "bad", "c d"}, "a row that failed comes again alone, and is set aside")
	same(handled, "acd", "a batch ends with the row that failed")
	same(value("SELECT tries || ' ' || error FROM sno_feed_aside(NULL::"+table+", $1)", reader),
		"2 it's \\ \\0wrong\uFFFD", "with its error")
	same(state(), "all done, tries: 0", "the other rows are acknowledged")

	exec("SELECT sno_feed_retry($1::text::regclass, $2)", table, reader)
	ok(feed.Next(background), "a row that was set aside is retried", feed.Err())
	same(feed.Batch().Part+messages(feed), "-1bad", "as part -1")
	func() {
		defer func() {
			same(recover(), `sno: row "1" is not one of the batch`, "a row of another batch can't fail")
		}()
		feed.Batch().Fail(&sno.Row{ID: "1"}, errors.New("wrong"))
	}()
	feed.Close()
	same(value("SELECT tries::text FROM sno_feed_aside(NULL::"+table+", $1)", reader), "2", "and no try counts")
}

// The program doesn't know which row failed, or it was no row's fault.
func unknown() {
	restart()
	insert("a", "b")
	feed := newFeed(sno.DB(db))
	ctx, stop := context.WithCancel(background)
	defer stop()
	var seen []string
	for _, cause := range []error{nil, fmt.Errorf("no %w", context.Canceled), errors.New("one is bad"), nil, nil} {
		ok(feed.Next(ctx), "a batch", feed.Err())
		seen = append(seen, messages(feed)+state())
		if len(seen) == 2 {
			stop()
			feed.Batch().Fail(nil, cause)
			ok(!feed.Next(ctx), "the context ends", feed.Err())
			ctx, stop = context.WithCancel(background)
		} else if len(seen) < 4 {
			feed.Batch().Fail(nil, cause)
		}
	}
	stop()
	ok(!feed.Next(ctx), "the context ends", feed.Err())
	same(seen, []string{"a bleased, tries: 0", "a bleased, tries: 0", "a bleased, tries: 0", "aleased, tries: 0",
		"bleased, tries: 0"}, "rows come one by one")
	same(state(), "all done, tries: 0", "and are acknowledged")
}

// The lease is extended, or lost between two rows, or at the end.
func leases() {
	restart()
	insert("a", "b", "c")
	begins := func() string { return value("SELECT busy_at::text FROM " + places + " WHERE upto IS NOT NULL") }
	var caught []string
	feed := newFeed(sno.DB(db))
	feed.OnError = func(err error) {
		caught = append(caught, sqlState(err))
	}
	feed.Lease = time.Hour
	ok(feed.Next(background), "a batch", feed.Err())
	batch := feed.Batch()
	before := begins()
	ok(batch.Next() && batch.Next(), "two rows", feed.Err())
	same(begins(), before, "no need to extend the lease")
	feed.Lease = time.Millisecond
	time.Sleep(time.Millisecond)
	ok(batch.Next(), "another row", feed.Err())
	ok(begins() > before, "the lease is extended", before)
	ok(!batch.Next(), "the batch ends", feed.Err())
	feed.Lease = time.Hour
	insert("d")
	ok(feed.Next(background), "a batch", feed.Err())
	same(messages(feed), "d", "the other one is acknowledged")

	for _, between := range []bool{true, false} {
		exec("SELECT sno_feed_rewind($1::text::regclass, $2, 'oldest')", table, reader)
		ok(feed.Next(background), "the feed goes on", feed.Err())
		same(messages(feed), "a b c d", "with all rows")
		batch = feed.Batch()
		ok(batch.Next(), "a row", feed.Err())
		if between {
			feed.Lease = time.Millisecond
			time.Sleep(time.Millisecond)
			exec("SELECT sno_feed_rewind($1::text::regclass, $2, 'oldest')", table, reader)
			ok(!batch.Next(), "the lease is lost", feed.Err())
			feed.Lease = time.Hour
		}
	}
	feed.Close()
	same(caught, []string{"55P03", "55P03"}, "which is reported")
	same(state(), "free, tries: 0", "the rows come again")
}

func sqlState(err error) string {
	failure, _ := err.(interface{ SQLState() string })
	return failure.SQLState()
}

type stateError string

func (e stateError) Error() string    { return "an error " + string(e) }
func (e stateError) SQLState() string { return string(e) }

func away() {
	restart()
	insert("a")
	failures := []error{errors.New("broken pipe"), stateError("57P01"), fmt.Errorf("wrapped: %w", stateError("25006"))}
	left := failures
	query := func(ctx context.Context, statement string) ([][]string, error) {
		if len(left) > 0 {
			err := left[0]
			left = left[1:]
			return nil, err
		}
		return sno.DB(db)(ctx, statement)
	}
	var caught []error
	feed := newFeed(query)
	feed.OnError = func(err error) { caught = append(caught, err) }
	ok(feed.Next(background), "the server comes back", feed.Err())
	same(caught, failures, "errors are reported")
	left = failures[:1]
	ctx, stop := context.WithCancel(background)
	feed.OnError = func(error) { stop() }
	ok(!feed.Next(ctx), "the context ends while the server is away", feed.Batch())
	same(feed.Err(), nil, "which is no error")
	same(state(), "leased, tries: 0", "the batch is not acknowledged")
	left = nil

	feed = newFeed(func(context.Context, string) ([][]string, error) { return nil, stateError("08006") })
	ctx, stop = context.WithCancel(background)
	feed.OnError = func(error) { stop() }
	ok(!feed.Next(ctx), "a server that doesn't come back", feed.Batch())
	same(feed.Err(), nil, "the context ends")

	// A connection to a former primary, which the pool keeps
	restart()
	insert("a")
	former, err := sql.Open("postgres", "")
	must(err)
	defer former.Close()
	former.SetMaxOpenConns(1)
	_, err = former.Exec("SET default_transaction_read_only = on")
	must(err)
	feed = newFeed(sno.DB(former))
	caught = nil
	feed.OnError = func(err error) {
		if caught = append(caught, err); len(caught) > 1 {
			panic(err)
		}
	}
	ok(feed.Next(background), "another connection", feed.Err())
	same(sqlState(caught[0]), "25006", "after that of a former primary")
	feed.Close()

	exec("SELECT sno_feed_rewind($1::text::regclass, $2, 'now')", table, reader)
	for _, driver := range []string{"postgres", "pgx"} {
		other, err := sql.Open(driver, "application_name=fed")
		must(err)
		ctx, stop = context.WithCancel(background)
		defer stop()
		feed = newFeed(sno.DB(other))
		feed.OnError = func(error) {}
		go func() {
			for value(`SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity
				WHERE application_name = 'fed' AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'`) == "0" {
				time.Sleep(time.Millisecond)
			}
			insert("b")
		}()
		ok(feed.Next(ctx), driver+": a connection is lost while the feed waits", feed.Err())
		same(messages(feed), "b", driver+": and is opened again")
		go func() {
			for value(`SELECT count(*)::text FROM pg_stat_activity
				WHERE application_name = 'fed' AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'`) == "0" {
				time.Sleep(time.Millisecond)
			}
			feed.OnError = func(err error) { panic(err) }
			stop()
		}()
		ok(!feed.Next(ctx), driver+": the context ends while it waits", feed.Batch())
		same(feed.Err(), nil, driver+": which is no error")
		same(state(), "all done, tries: 0", driver+": the batch is acknowledged")
		other.Close()
		ok(!feed.Next(background), driver+": the pool is closed", feed.Batch())
		same(fmt.Sprint(feed.Err()), "sql: database is closed", driver+": which is an error")
	}
}

// Changes of a table: the rows that it had, and then its updates and deletes.
func changes() {
	exec(`CREATE TABLE "a Person" (fence integer PRIMARY KEY, name text)`)
	exec(`INSERT INTO "a Person" VALUES (1, 'Ada'), (2, 'Bob')`)
	exec(`CALL sno_feed_create_changes('"a Person"')`)
	exec(`SELECT sno_feed_create_reader('"a Person"', 'copy')`)
	feed := sno.NewFeed(sno.DB(db), `"a Person"`, "copy")
	defer feed.Close()
	seen := ""
	for _, change := range []string{`UPDATE "a Person" SET name = 'Bea' WHERE fence = 2`, `DELETE FROM "a Person"`, ""} {
		for count := 0; count < 2 && feed.Next(background); {
			batch := feed.Batch()
			for ; batch.Next(); count++ {
				seen += fmt.Sprintln(string(batch.Row().Item), batch.Row().Deleted)
			}
			if strings.Contains(change, "UPDATE") || strings.Contains(seen, "Bea") {
				break
			}
		}
		exec(change)
	}
	same(feed.Err(), nil, "changes of a table")
	same(seen, `{"fence":1,"name":"Ada"} false
{"fence":2,"name":"Bob"} false
{"fence":2,"name":"Bea"} false
{"fence":1,"name":null} true
{"fence":2,"name":null} true
`, "its rows and their changes")
}

func wrong() {
	for _, one := range []struct{ feed, reader, state string }{
		{"nowhere", "mail", "42P01"}, {"0", "mail", "42P01"}, {"customers", "mail", "55000"}, {"outbox", "nobody", "42704"},
	} {
		feed := sno.NewFeed(sno.DB(db), one.feed, one.reader)
		ok(!feed.Next(background), "wrong: "+one.state, feed.Batch())
		failure, isFailure := feed.Err().(interface{ SQLState() string })
		ok(isFailure && failure.SQLState() == one.state, "its error", feed.Err())
		ok(!feed.Next(background), "it stays so", feed.Batch())
	}
	for _, driver := range []string{"postgres", "pgx"} {
		other, err := sql.Open(driver, "user=nobody password=wrong")
		must(err)
		feed := sno.NewFeed(sno.DB(other), "outbox", "mail")
		ok(!feed.Next(background), driver+": nobody", feed.Batch())
		var failure interface{ SQLState() string }
		ok(errors.As(feed.Err(), &failure) && strings.HasPrefix(failure.SQLState(), "28"), driver+": its error", feed.Err())
	}
}

func main() {
	var err error
	db, err = sql.Open("postgres", "")
	must(err)
	exec("CREATE EXTENSION sno_feeds")
	readme(background)
	exec("CREATE TABLE " + table + ` (id sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
		fence integer DEFAULT 7, deleted text DEFAULT 'no', message text NOT NULL)`)
	exec("SELECT sno_feed_create($1::text::regclass)", table)
	exec("SELECT sno_feed_create_reader($1::text::regclass, $2)", table, reader)
	inOrder("postgres")
	inOrder("pgx")
	left()
	failed()
	unknown()
	leases()
	away()
	changes()
	wrong()
	done()
}
