// The Go package with loans: many short ones, beside sessions of the database.
// SNO_LOAN_IDS is the number of ids.

package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/muyo/sno"
)

var db *sql.DB

func count(query string, args ...interface{}) (n int) {
	must(db.QueryRow(query, args...).Scan(&n))
	return n
}

// A source that notes each loan in the database.
func noted(source Source) Source {
	return func() (snapshot []byte, until time.Time, err error) {
		if snapshot, until, err = source(); err == nil {
			_, err = db.Exec(`INSERT INTO loan SELECT (s->'partition'->>0)::int << 8 | (s->'partition'->>1)::int,
				(s->'wallHi')::bigint, $2 FROM CAST($1 AS jsonb) AS s`, string(snapshot), until)
		}
		return
	}
}

// Copy ids to the database.
func store(ids []sno.ID) {
	transaction, err := db.Begin()
	must(err)
	rows, err := transaction.Prepare(pq.CopyIn("made", "id", "borrowed"))
	must(err)
	for _, id := range ids {
		_, err = rows.Exec(id.String(), true)
		must(err)
	}
	_, err = rows.Exec()
	must(err)
	must(transaction.Commit())
}

// Make ids in several goroutines: first a share at full speed, then a few each
// millisecond.
func makeIds(ids *Generator, goroutines, number int) {
	var group sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			made := make([]sno.ID, 0, number)
			for len(made) < number {
				if len(made) > number/2 && len(made)%40 == 0 {
					time.Sleep(time.Millisecond)
				}
				id, err := ids.New(byte(len(made)))
				if isClockError(id, err) {
					// The machine is so busy that the new loan is over already.
					time.Sleep(10 * time.Millisecond)
					continue
				}
				must(err)
				made = append(made, id)
			}
			store(made)
		}()
	}
	group.Wait()
}

// Sessions that come and go, and make ids until the end.
func generate(stop *int32, group *sync.WaitGroup) {
	defer group.Done()
	for atomic.LoadInt32(stop) == 0 {
		session, err := sql.Open("postgres", "")
		must(err)
		_, err = session.Exec("INSERT INTO made SELECT sno_generate(n % 256), false FROM generate_series(1, 2000) AS n")
		must(err)
		must(session.Close())
	}
}

func meet() {
	number, err := strconv.Atoi(os.Getenv("SNO_LOAN_IDS"))
	if err != nil {
		number = 400000
	}
	_, err = db.Exec(`
		CREATE TABLE loan (partition int, floor bigint, until timestamptz);
		CREATE UNLOGGED TABLE made (id sno, borrowed boolean);
		ALTER DATABASE loans_go SET sno.partitions = '0-99'`)
	must(err)

	var stop int32
	var sessions, services sync.WaitGroup
	begin := time.Now()
	for i := 0; i < 2; i++ {
		sessions.Add(1)
		go generate(&stop, &sessions)
		services.Add(1)
		go func() {
			defer services.Done()
			makeIds(NewGenerator(noted(FromDatabase(db, 100*time.Millisecond))), 4, number/8)
		}()
	}
	services.Wait()
	seconds := time.Since(begin).Seconds()
	atomic.StoreInt32(&stop, 1)
	sessions.Wait()

	_, err = db.Exec("CREATE INDEX ON loan (partition, until); ANALYZE loan; ANALYZE made")
	must(err)
	borrowed := count("SELECT count(*) FROM made WHERE borrowed")
	loans := count("SELECT count(*) FROM loan")
	ok(borrowed == number/8*8 && loans > 4,
		fmt.Sprintf("%d ids in %d loans in %.0f s", borrowed, loans, seconds))
	ok(count("SELECT count(*) FROM made WHERE NOT borrowed") > 10000, "sessions made ids meanwhile")
	same(count("SELECT count(*) - count(DISTINCT sno_with_meta(id, 0)) FROM made"), 0, "no id came twice")

	// Loans of one partition don't overlap.
	_, err = db.Exec(`CREATE TABLE checked AS
		SELECT borrowed, coalesce(sno_timestamp(id) > timestamptz '2010-01-01Z' + floor * interval '4 ms', false) AS within
		FROM made LEFT JOIN LATERAL (
			SELECT floor FROM loan
			WHERE partition = sno_partition(id) AND until >= sno_timestamp(id)
			ORDER BY until LIMIT 1) AS l ON true`)
	must(err)
	same(count("SELECT count(*) FROM checked WHERE borrowed AND NOT within"), 0,
		"no id is outside of its loan")
	same(count("SELECT count(*) FROM checked WHERE NOT borrowed AND within"), 0,
		"no session issued within a loan")
}

// A source that gives loans of the past and of the future, by units from now on.
func crafted(calls *int, units ...[3]int64) Source {
	return func() ([]byte, time.Time, error) {
		u := units[*calls%len(units)]
		*calls++
		now := int64(unitOf(time.Now()))
		return []byte(fmt.Sprintf(`{"partition": [0, %d], "sequence": 65535, "wallHi": %d, "wallSafe": %d}`,
			*calls, now+u[0], now+u[1])), timeOf(uint64(now + u[2])), nil
	}
}

func isClockError(id sno.ID, err error) bool {
	return id.IsZero() && err != nil && strings.Contains(err.Error(), "is not within a new loan")
}

func clocks() {
	const hour = 900000
	var calls int

	ids := NewGenerator(crafted(&calls, [3]int64{-2 * hour, -2 * hour, -hour}))
	ok(isClockError(ids.New(1)), "an error if the clock is ahead of a new loan")
	ok(isClockError(ids.New(1)) && calls == 1, "the next call doesn't take a loan at once", calls)
	ids.failedAt = ids.failedAt.Add(-time.Second)
	ok(isClockError(ids.New(1)) && calls == 2, "a second later it does", calls)

	ids = NewGenerator(crafted(&calls, [3]int64{hour, hour, 2 * hour}))
	ok(isClockError(ids.New(1)), "an error if the clock is behind a new loan")

	calls = 0
	ids = NewGenerator(crafted(&calls, [3]int64{10, 10, hour}))
	before := time.Now()
	id, err := ids.New(1)
	ok(err == nil && calls == 1 && unitOf(id.Time()) > unitOf(before)+10,
		"if it is a little behind, it waits until it is after the floor", err)

	// The package begins as if the clock had been set back by an hour.
	calls = 0
	ids = NewGenerator(crafted(&calls, [3]int64{hour, -hour, 2 * hour}))
	ids.loan, err = ids.source.take()
	must(err)
	ids.setSpareAt(unitOf(time.Now()))
	id, err = ids.New(1)
	ok(err == nil && calls == 1 && id[4]&1 == 1, "set back once: the other side", id[:], err)
	second, err := ids.New(1)
	ok(err == nil && calls == 1 && second.Compare(id) > 0 && second[4]&1 == 1, "it goes on there", calls, err)

	// As if it had been set back behind what both sides issued.
	ids.loan.last[1] = (unitOf(time.Now()) + hour/2) << 16
	ids.source = crafted(&calls, [3]int64{-hour, -hour, hour})
	id, err = ids.New(1)
	ok(err == nil && calls == 2 && id[4]&1 == 0, "set back twice: the next loan", calls, err)

	// An id that isn't after the one before is thrown away.
	ids.loan.last[0] = (unitOf(time.Now())+hour/2)<<16 | 1
	second, err = ids.New(1)
	ok(err == nil && calls == 3 && second.Partition() != id.Partition(), "an id out of order: the next loan", calls, err)
}

func absence() {
	var away int32
	gone := errors.New("no database")
	source := FromDatabase(db, 2*time.Second)
	ids := NewGenerator(func() ([]byte, time.Time, error) {
		if atomic.LoadInt32(&away) != 0 {
			atomic.AddInt32(&away, 1)
			return nil, time.Time{}, gone
		}
		return source()
	})
	_, err := ids.New(1)
	must(err)
	atomic.StoreInt32(&away, 1)
	until := timeOf(ids.loan.until)
	for err == nil && time.Now().Before(until.Add(time.Minute)) {
		var id sno.ID
		if id, err = ids.New(1); err == nil && id.Time().After(until) {
			break
		}
	}
	ok(err == gone && !time.Now().Before(until), "without a database, ids until the end of the loan", err)
	attempts := atomic.LoadInt32(&away) - 1
	ok(attempts > 1 && attempts < 15, "the next loan was asked for early, a few times", attempts)
	atomic.StoreInt32(&away, 0)
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); {
		_, err = ids.New(1)
	}
	ok(err == nil, "it goes on when the database is back", err)
}

func main() {
	var err error
	db, err = sql.Open("postgres", "")
	must(err)
	id, err := example(db)
	must(err)
	same(count("SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = sno_partition($1)", id.String()), 1,
		"example")
	clocks()
	absence()
	meet()
	done()
}
