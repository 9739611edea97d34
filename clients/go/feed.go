package sno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand"
	"regexp"
	"strings"
	"time"
)

const (
	feedWait   = 5 * time.Second        // of one statement
	firstDelay = 100 * time.Millisecond // after an error
	lastDelay  = 5 * time.Second        // after many
)

// A Feed reads the rows of a feed of the extension sno_feeds, as one of its readers.  Each batch
// of rows is leased to it, and acknowledged by the next call of Next.  Each statement is a
// transaction of its own.
//
// One goroutine may use a Feed.  Several Feeds share the parts of a reader.
type Feed struct {
	MaxRows    int           // of a batch.  The default is 1000
	Lease      time.Duration // the time for a batch.  The default is a minute
	RetryAfter time.Duration // the time until a row that failed comes again.  The default is a second
	OnError    func(error)   // gets the errors after which the Feed goes on.  The default logs them

	query       Query
	feed        string // as the program names it
	reader      string // a literal
	table, name string // the qualified name, also as a literal
	ctx         context.Context
	batch       *Batch // the leased rows, or nil
	err         error
	random      *rand.Rand
}

// A Batch has rows of a part of a feed, in their order.  By Next and Row, a program handles one row
// after another, and the lease doesn't end meanwhile.
type Batch struct {
	Rows       []Row
	Part       string        // -1 for a row that was set aside, and is tried again
	RetryAfter time.Duration // the time until a row that failed comes again, at first that of the Feed

	feed    *Feed
	fence   string
	since   time.Time // when the lease began or was extended, or earlier
	next    int
	failure *failure
}

// A Row is a row of a Batch.
type Row struct {
	ID      string          // its key, or the id of the change
	Deleted bool            // only a feed of changes has deleted rows.  Only their keys are not null
	Item    json.RawMessage // an object whose keys are the columns
}

type failure struct{ id, cause string } // SQL

// NewFeed returns a Feed of a table, whose name is written as in SQL.
func NewFeed(query Query, feed, reader string) *Feed {
	return &Feed{
		MaxRows:    1000,
		Lease:      time.Minute,
		RetryAfter: time.Second,
		OnError:    func(err error) { log.Printf("sno: feed %s, reader %s: %v", feed, reader, err) },
		query:      query,
		feed:       feed,
		reader:     literal(reader),
		ctx:        context.Background(),
		random:     rand.New(rand.NewSource(time.Now().UnixNano())),
	}
}

// Next acknowledges the batch, or reports the row that failed, and waits for the next batch.  It
// returns false after an error, or if the context ends.  A batch is also acknowledged if the
// context has ended while it was handled.
func (f *Feed) Next(ctx context.Context) bool {
	f.ctx = ctx
	if f.batch != nil && f.err == nil {
		ending := f.batch.ending()
		f.batch = nil
		f.runLeased(ending)
	}
	for f.err == nil && ctx.Err() == nil {
		if f.take(); f.batch != nil {
			return true
		}
		if f.err == nil && ctx.Err() == nil {
			if _, err := f.run(ctx, f.call("CALL sno_feed_wait", interval(feedWait))); ctx.Err() == nil {
				f.err = err
			}
		}
	}
	return false
}

// Batch returns the leased rows.
func (f *Feed) Batch() *Batch { return f.batch }

// Err returns the error because of which Next returned false, or nil if its context ended.
func (f *Feed) Err() error { return f.err }

// Close gives the rows of a batch back that is not acknowledged, because the program left its loop.
// They come again at once, and no try counts, unless a row failed.
func (f *Feed) Close() {
	batch := f.batch
	if batch == nil {
		return
	}
	f.batch = nil
	if batch.failure == nil {
		batch.RetryAfter = 0
		batch.failure = &failure{"NULL", "NULL"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), feedWait)
	defer cancel()
	if _, err := f.query(ctx, batch.ending()); err != nil {
		f.OnError(err)
	}
}

// Next moves on to the next row, which Row returns, if there is one, no row failed, and the lease
// isn't lost.  Before rows other than the first, it extends the lease if more than half of its time
// has passed.
func (b *Batch) Next() bool {
	f := b.feed
	if b.next > 0 && b.hasNext() && time.Since(b.since) > f.Lease/2 {
		since := time.Now()
		if f.runLeased(f.call("SELECT sno_feed_extend", b.Part, b.fence, interval(f.Lease)) + "::text") {
			b.since = since
		} else if f.err == nil {
			f.batch = nil
		}
	}
	if !b.hasNext() {
		return false
	}
	b.next++
	return true
}

func (b *Batch) hasNext() bool {
	return b.feed.batch == b && b.feed.err == nil && b.failure == nil && b.next < len(b.Rows)
}

// Row returns the row to which Next has moved.
func (b *Batch) Row() *Row { return &b.Rows[b.next-1] }

// Fail reports that the row could not be handled.  For a batch, only the first call counts.  When
// the batch ends, the rows before this row are acknowledged.  This row and those after it come
// again, unless this row is set aside.  If the row is nil, one of the rows failed, and all come
// again one by one.  If the cause is nil, or is the end of the context of Next, no row is to blame,
// and no try counts.
func (b *Batch) Fail(row *Row, cause error) {
	failed := failure{"NULL", "NULL"}
	if row != nil {
		known := false
		for _, each := range b.Rows {
			known = known || each.ID == row.ID
		}
		if !known {
			panic(fmt.Sprintf("sno: row %q is not one of the batch", row.ID))
		}
		failed.id = literal(row.ID)
	}
	if ended := b.feed.ctx.Err(); cause != nil && (ended == nil || !errors.Is(cause, ended)) {
		failed.cause = literal(cause.Error())
	}
	if b.failure == nil {
		b.failure = &failed
	}
}

// ending returns the statement that ends the lease of the batch.
func (b *Batch) ending() string {
	if b.failure == nil {
		return b.feed.call("SELECT sno_feed_done", b.Part, b.fence) + "::text"
	}
	return b.feed.call("SELECT sno_feed_fail", b.Part, b.fence, b.failure.id, b.failure.cause, interval(b.RetryAfter)) +
		"::text"
}

// take leases the next rows, if there are any.
func (f *Feed) take() {
	if f.table == "" {
		found, err := f.runToEnd("SELECT pg_catalog.format('%s.%I', relnamespace::pg_catalog.regnamespace, relname) " +
			"FROM pg_catalog.pg_class WHERE oid = " + literal(f.feed) + "::pg_catalog.text::pg_catalog.regclass")
		if f.err = err; err != nil || len(found) == 0 {
			return
		}
		f.table = found[0][0]
		f.name = literal(f.table)
	}
	since := time.Now()
	found, err := f.runToEnd(fmt.Sprintf("SELECT part::text, fence::text, id, deleted::text, to_json(item)::text "+
		"FROM sno_feed_take(NULL::%s, %s, %d, %s)", f.table, f.reader, f.MaxRows, interval(f.Lease)))
	if f.err = err; err != nil || len(found) == 0 {
		return
	}
	f.batch = &Batch{Part: found[0][0], RetryAfter: f.RetryAfter, feed: f, fence: found[0][1], since: since}
	for _, row := range found {
		f.batch.Rows = append(f.batch.Rows, Row{row[2], row[3] == "true", json.RawMessage(row[4])})
	}
}

// call returns a call with the feed, the reader and these arguments.
func (f *Feed) call(procedure string, arguments ...string) string {
	return procedure + "(" + strings.Join(append([]string{f.name, f.reader}, arguments...), ", ") + ")"
}

// runLeased runs a statement that needs the lease of the batch, and reports whether it was not lost.
// After a connection was lost, the first run may have ended the lease.
func (f *Feed) runLeased(statement string) bool {
	_, err := f.runToEnd(statement)
	if sqlState(err) == "55P03" {
		f.OnError(err)
		return false
	}
	f.err = err
	return err == nil
}

// A detached context doesn't end.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// runToEnd runs a statement to its end, which may be up to 5 s after the end of the context.
func (f *Feed) runToEnd(statement string) ([][]string, error) {
	ctx, cancel := context.WithCancel(detached{f.ctx})
	defer cancel()
	go func() {
		select {
		case <-f.ctx.Done():
			time.AfterFunc(feedWait, cancel)
		case <-ctx.Done():
		}
	}()
	return f.run(ctx, statement)
}

// run runs a statement, again and again while the server is away.  If the Feed's context ends
// meanwhile, it returns nothing.
func (f *Feed) run(ctx context.Context, statement string) ([][]string, error) {
	for delay := firstDelay; ; delay *= 2 {
		found, err := f.query(ctx, statement)
		if err == nil || ctx == f.ctx && ctx.Err() != nil || !isTransient(err) {
			return found, err
		}
		f.OnError(err)
		if delay > lastDelay {
			delay = lastDelay
		}
		timer := time.NewTimer(delay/2 + time.Duration(f.random.Int63n(int64(delay/2))))
		select {
		case <-timer.C:
		case <-f.ctx.Done():
			timer.Stop()
			return nil, nil
		}
	}
}

var transientStates = regexp.MustCompile(`\A(08...|57P0[1-5]|53300|25006|40001|40P01)\z`)

// isTransient reports whether a connection was lost or refused, the server is a standby, or the statement
// should be run again.  Errors without a state are those of the driver, or of database/sql, for
// example because the program has closed the pool.
func isTransient(err error) bool {
	state := sqlState(err)
	if state == "" {
		return !strings.HasPrefix(err.Error(), "sql: ")
	}
	return transientStates.MatchString(state)
}

func sqlState(err error) string {
	var known interface{ SQLState() string }
	if errors.As(err, &known) {
		return known.SQLState()
	}
	return ""
}

// literal returns a text as SQL, whatever standard_conforming_strings is.
func literal(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return "E'" + strings.NewReplacer("\x00", `\\0`, `\`, `\\`, `'`, `''`).Replace(text) + "'"
}

func interval(d time.Duration) string { return fmt.Sprintf("'%d microseconds'", d.Microseconds()) }
