// Ids made in the application: the rules of a loan, generators with a clock and a source
// that the test drives, and generators of the database.

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"sno.example/clients/go"
)

var ctx = context.Background()

const unit = 4 * time.Millisecond

// A test gives up after this time.
const longest = 3 * time.Minute

// until waits until something is so.
func until(so func() bool, what string) {
	for end := time.Now().Add(longest); !so(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			panic("still not so: " + what)
		}
	}
}

// The cases of test/vectors/loans.tsv.

var outcomes = map[sno.Outcome]string{sno.LoanWait: "wait", sno.LoanBehind: "behind", sno.LoanOver: "over"}

// wrongCases runs cases, and returns how many there are, and those that go wrong.
func wrongCases(file string) (cases int, wrong []string) {
	var name string
	var loan *sno.Loan
	for _, line := range strings.Split(file, "\n") {
		var number [5]int64
		fields := strings.Split(line, "\t")
		switch {
		case line == "" || line[0] == '#':
			continue
		case fields[0] == "loan":
			for i, field := range fields[2:] {
				_, err := fmt.Sscan(field, &number[i])
				must(err)
			}
			cases++
			name = fields[1]
			loan = sno.NewLoan(uint16(number[0]), number[1], uint16(number[2]), uint16(number[3]), number[4])
			continue
		}
		for i, field := range fields[1:4] {
			_, err := fmt.Sscan(field, &number[i])
			must(err)
		}
		for ; number[2] > 0; number[2]-- {
			id, outcome := loan.Next(number[0], byte(number[1]))
			seen := outcomes[outcome]
			if outcome == sno.LoanIssued {
				seen = id.String()
			}
			if number[2] > 1 && outcome != sno.LoanIssued || number[2] == 1 && seen != fields[4] {
				wrong = append(wrong, fmt.Sprintf("%s: %s, not %s", name, seen, line))
			}
		}
	}
	return cases, wrong
}

func loans() {
	file, err := os.ReadFile(os.Getenv("CLIENTS") + "/../test/vectors/loans.tsv")
	must(err)
	cases, wrong := wrongCases(string(file))
	ok(cases > 0 && len(wrong) == 0, fmt.Sprintf("%d cases of loans", cases), wrong)
	_, wrong = wrongCases(strings.Replace(string(file), "xxxxxxxu222lk222", "xxxxxxxu222lk223", 1))
	same(len(wrong), 1, "a wrong case is found")
}

// A clock that stands still until the test sets it.
type clock struct {
	mutex  sync.Mutex
	at     time.Time
	timers map[*timer]bool
}

type timer struct {
	due   time.Time
	fired chan time.Time
}

func newClock() *clock {
	return &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: map[*timer]bool{}}
}

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *clock) timer(d time.Duration) (<-chan time.Time, func() bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	t := &timer{c.at.Add(d), make(chan time.Time, 1)}
	c.timers[t] = true
	c.fire()
	return t.fired, func() bool {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.timers, t)
		return true
	}
}

func (c *clock) fire() {
	for t := range c.timers {
		if !t.due.After(c.at) {
			t.fired <- c.at
			delete(c.timers, t)
		}
	}
}

func (c *clock) set(at time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = at
	c.fire()
}

func (c *clock) pass(d time.Duration) { c.set(c.now().Add(d)) }

// waited waits until somebody waits for just that long.
func (c *clock) waited(d time.Duration) {
	until(func() bool {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		for t := range c.timers {
			if t.due.Equal(c.at.Add(d)) {
				return true
			}
		}
		return false
	}, fmt.Sprint("somebody waits for ", d))
}

func (c *clock) passWaited(d time.Duration) {
	c.waited(d)
	c.pass(d)
}

// A query that the test answers.
type query struct {
	asked   chan string
	answers chan answer
}

type answer struct {
	rows [][]string
	err  error
}

var errAway = errors.New("the database is away")

func (q *query) run(ctx context.Context, statement string) ([][]string, error) {
	select {
	case q.asked <- statement:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-q.answers:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// What a test drives.
type stage struct {
	*clock
	*query
	*sno.Generator
}

func newStage(source func(sno.Query) sno.Source, options ...sno.Option) stage {
	s := stage{newClock(), &query{make(chan string), make(chan answer)}, nil}
	var err error
	s.Generator, err = sno.NewGenerator(source(s.run), options...)
	must(err)
	s.SetClock(s.now, s.clock.timer)
	return s
}

func hours(q sno.Query) sno.Source  { return sno.Loans(q) }
func blocks(q sno.Query) sno.Source { return sno.Blocks(q, sno.WithCount(10), sno.WithMeta(1)) }

// give answers the query, and waits until the generator has the answer.
func (s stage) give(rows [][]string, err error) {
	stats := s.Stats()
	<-s.asked
	s.answers <- answer{rows, err}
	until(func() bool { now := s.Stats(); return now.Taken+now.Failed > stats.Taken+stats.Failed }, "an answer is known")
}

func unitOf(at time.Time) int64 { return at.UnixMilli()/4 - 315576000000 }

// row is a loan of all sequences, of times after floor up to until.
func row(partition int, floor, until time.Time) [][]string {
	return slice(partition, floor, until, 65535)
}

func slice(partition int, floor, until time.Time, last int) [][]string {
	f := unitOf(floor)
	return [][]string{{fmt.Sprintf(`{"now": 7, "drifts": 0, "wallHi": %d, "sequence": %d, "wallSafe": %d, "partition": [%d, %d],
		"sequenceMax": %d, "sequenceMin": 0}`, f, last, f, partition>>8, partition&0xff, last), fmt.Sprint(unitOf(until))}}
}

// giveHour answers with a loan of an hour.
func (s stage) giveHour(partition int) {
	s.give(row(partition, s.now().Add(-unit), s.now().Add(time.Hour)), nil)
}

// call runs Next beside the test.
func (s stage) call(meta byte) func() (sno.ID, error) {
	var id sno.ID
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		id, err = s.Next(meta)
	}()
	return func() (sno.ID, error) { <-done; return id, err }
}

// ready runs Ready beside the test.
func (s stage) ready(ctx context.Context, needs ...sno.Need) func() error {
	err := make(chan error)
	go func() { err <- s.Ready(ctx, needs...) }()
	return func() error { return <-err }
}

// next is the partition of an id that needn't be waited for.
func (s stage) next() uint16 {
	id, err := s.Next(0)
	must(err)
	return id.Partition()
}

// partition is that of an id.
func partition(id sno.ID, err error) uint16 {
	must(err)
	return id.Partition()
}

// refused tells whether the error has a reason, an end and a cause.
func refused(err error, reason sno.Reason, end time.Time, cause, name string) {
	var out *sno.OutOfIDsError
	ok(errors.As(err, &out) && out.Reason == reason && out.Until.Equal(end) && strings.Contains(fmt.Sprint(out.Err), cause) &&
		strings.HasPrefix(err.Error(), "sno: out of ids at 20"), name, err)
}

func spares() {
	s := newStage(hours)
	first := s.call(0)
	s.giveHour(1)
	same(partition(first()), uint16(1), "a loan")
	end := s.now().Add(time.Hour)
	s.pass(30*time.Minute - unit)
	s.next()
	ok(!s.UnderWay(), "before half of its time no other is taken")
	s.pass(unit)
	s.next()
	ok(s.UnderWay(), "from half on, another is taken")
	same(s.next(), uint16(1), "meanwhile ids are made")
	s.giveHour(2)
	s.pass(time.Minute)
	s.next()
	ok(!s.UnderWay(), "it is taken once")
	s.pass(29 * time.Minute)
	same(s.next(), uint16(1), "until the end of the loan")
	s.pass(unit)
	same(s.next(), uint16(2), "then of the spare")
	ok(s.UnderWay(), "of which half has passed")

	// Failures: until the end of the loan they are silent.
	end = s.Stats().Until
	var pauses []int
	for s.now().Before(end) {
		s.give(nil, errAway)
		for pause := 0; ; pause++ {
			if s.next(); s.UnderWay() {
				pauses = append(pauses, pause)
				break
			}
			if s.pass(time.Second); s.now().After(end) {
				break
			}
		}
	}
	same(pauses[:8], []int{1, 2, 4, 8, 16, 32, 60, 60}, "pauses grow")
	s.pass(end.Sub(s.now()))
	same(s.next(), uint16(2), "the last unit of the loan")
	stats := s.Stats()
	ok(stats.Failed > 20 && stats.Failure == errAway && stats.Taken == 2, "the database is away: stats", stats)
}

func away() {
	s := newStage(hours)
	none := s.call(0)
	s.give(nil, errAway)
	_, err := none()
	refused(err, sno.ReasonOver, time.Time{}, errAway.Error(), "no loan")
	ok(errors.Is(err, errAway), "its cause")
	_, err = s.Next(0)
	refused(err, sno.ReasonOver, time.Time{}, errAway.Error(), "no loan, in the pause")
	refused(s.Ready(ctx), sno.ReasonOver, time.Time{}, errAway.Error(), "not ready, in the pause")
	ok(!s.UnderWay(), "no attempt in the pause")
	s.pass(time.Second)
	first := s.call(0)
	s.giveHour(1)
	same(partition(first()), uint16(1), "the database is back")

	end := s.now().Add(time.Hour)
	s.pass(30 * time.Minute)
	s.next()
	s.give(nil, errAway)
	s.pass(time.Second - 1)
	s.next()
	ok(!s.UnderWay(), "the pause, again of a second")
	s.pass(1)
	s.next()
	s.give(nil, errAway)
	s.pass(end.Sub(s.now()) + unit)
	none = s.call(0)
	s.give(nil, errAway)
	_, err = none()
	refused(err, sno.ReasonOver, end, errAway.Error(), "the loan is over")
	s.pass(4 * time.Second)
	none = s.call(0)
	<-s.asked
	s.passWaited(5 * time.Second)
	_, err = none()
	refused(err, sno.ReasonOver, end, errAway.Error(), "the loan is over, and the source slow")
	none = s.call(0)
	s.answers <- answer{row(2, s.now().Add(-unit), s.now().Add(time.Hour)), nil}
	same(partition(none()), uint16(2), "another call waits for the same attempt")

	s = newStage(hours, sno.WithWait(0))
	_, err = s.Next(0)
	refused(err, sno.ReasonOver, time.Time{}, "did not return in 0s", "no wait")
	s.giveHour(3)
	same(s.next(), uint16(3), "no wait, and later an id")

	// Many wait at the same time.
	s = newStage(hours)
	var calls []func() (sno.ID, error)
	for i := 0; i < 10; i++ {
		calls = append(calls, s.call(0))
	}
	s.giveHour(4)
	seen := map[sno.ID]bool{}
	for _, call := range calls {
		id, err := call()
		must(err)
		seen[id] = true
	}
	same(len(seen), 10, "10 calls wait for one loan")
	same(s.Stats(), sno.Stats{Issued: 10, Taken: 1, Until: s.now().Add(time.Hour)}, "stats")
}

func clocks() {
	s := newStage(hours)
	early := s.call(0)
	s.give(row(1, s.now().Add(time.Second), s.now().Add(time.Hour)), nil)
	s.passWaited(time.Second + unit)
	id, err := early()
	must(err)
	ok(id.Partition() == 1 && id.Time().Equal(s.now()), "the clock is a second behind a loan: a wait", id.Time())

	s = newStage(hours, sno.WithWait(time.Second/2))
	early = s.call(0)
	s.give(row(1, s.now().Add(time.Second), s.now().Add(time.Hour)), nil)
	s.passWaited(time.Second / 2)
	_, err = early()
	refused(err, sno.ReasonClock, s.Stats().Until, "", "the clock is behind a loan, for longer than the wait")
	s.pass(time.Second/2 + unit)
	same(s.next(), uint16(1), "but later there is an id")

	s = newStage(hours)
	early = s.call(0)
	s.give(row(1, s.now().Add(time.Second+unit), s.now().Add(time.Hour)), nil)
	_, err = early()
	refused(err, sno.ReasonClock, time.Time{}, "is not within a new loan", "the clock is more than a second behind a loan")
	same(s.Stats().Failed, uint64(1), "that is a failed attempt")
	s.pass(time.Second)
	late := s.call(0)
	s.give(row(1, s.now().Add(-time.Hour), s.now().Add(-unit)), nil)
	_, err = late()
	refused(err, sno.ReasonClock, time.Time{}, "is not within a new loan", "the clock is after a loan")
	s.pass(2 * time.Second)
	slow := s.call(0)
	<-s.asked
	rows := row(1, s.now().Add(-unit), s.now().Add(10*unit))
	s.pass(11 * unit)
	s.answers <- answer{rows, nil}
	_, err = slow()
	refused(err, sno.ReasonOver, time.Time{}, "came too late: it was asked for at ", "a loan is over when it comes")
	s.pass(4 * time.Second)
	notReady := s.ready(ctx)
	s.give(row(1, s.now().Add(time.Hour), s.now().Add(2*time.Hour)), nil)
	refused(notReady(), sno.ReasonClock, time.Time{}, "is not within a new loan", "the clock is behind a loan: not ready")

	// Set back once, it changes sides.  Set back twice, it is the next loan's turn.
	for _, isAway := range []bool{true, false} {
		s = newStage(hours)
		start := s.now()
		first := s.call(0)
		s.giveHour(1)
		must(last(first()))
		s.set(start.Add(20 * unit))
		s.next()
		s.set(start.Add(10 * unit))
		id, err = s.Next(0)
		ok(err == nil && id.TickTock() && id.Partition() == 1, "set back once", err)
		s.set(start.Add(5 * unit))
		second := s.call(0)
		if isAway {
			s.give(nil, errAway)
			_, err = second()
			refused(err, sno.ReasonClock, s.Stats().Until, errAway.Error(), "set back twice, and the database is away")
			s.set(start.Add(11 * unit))
			same(s.next(), uint16(1), "but then the clock is after that")
			s.set(start.Add(9 * unit))
			_, err = s.Next(0)
			refused(err, sno.ReasonClock, s.Stats().Until, errAway.Error(), "set back again, in the pause")
		} else {
			s.giveHour(2)
			same(partition(second()), uint16(2), "set back twice, the next loan")
		}
	}

	// Two sequences are two ids each 4 ms.
	s = newStage(func(q sno.Query) sno.Source { return sno.Loans(q, sno.WithSequences(2)) })
	first := s.call(0)
	s.give(slice(1, s.now().Add(-unit), s.now().Add(time.Hour), 1), nil)
	must(last(first()))
	s.next()
	s.pass(time.Millisecond)
	waits := s.call(7)
	s.passWaited(3 * time.Millisecond)
	id, err = waits()
	ok(err == nil && id.Time().Equal(s.now()) && id.Sequence() == 0 && id.Meta() == 7, "a unit is exhausted: a wait", err)
}

func last(_ sno.ID, err error) error { return err }

// block is one of 10 ids.
func block(n int) (ids [][]string) {
	for i := 0; i < 10; i++ {
		ids = append(ids, []string{sno.ID{5: 1, 8: byte(n), 9: byte(i)}.String()})
	}
	return ids
}

func ofBlocks() {
	s := newStage(blocks)
	first := s.call(1)
	same(<-s.asked, "SELECT id::text FROM sno_generate_many(10, 1) AS id", "the statement for a block")
	s.answers <- answer{block(0), nil}
	must(last(first()))
	for i := 1; i < 4; i++ {
		must(last(s.Next(1)))
	}
	ok(!s.UnderWay(), "before half of a block no other is taken")
	must(last(s.Next(1)))
	ok(s.UnderWay(), "from half on, another is taken")
	s.give(block(1), nil)
	var seen []string
	for i := 5; i < 14; i++ {
		id, err := s.Next(1)
		must(err)
		seen = append(seen, fmt.Sprint(id.Sequence()))
	}
	same(strings.Join(seen, " "), "5 6 7 8 9 256 257 258 259", "all ids of a block, and then the next ones")
	ok(!s.UnderWay(), "it is taken once")
	must(last(s.Next(1)))
	s.give(nil, errAway)
	for i := 15; i < 20; i++ {
		must(last(s.Next(1)))
	}
	_, err := s.Next(1)
	refused(err, sno.ReasonOver, time.Time{}, errAway.Error(), "the block is used up")
	_, err = s.Next(2)
	ok(err != nil && !errors.As(err, new(*sno.OutOfIDsError)), "another metabyte", err)
	s.pass(time.Second)
	first = s.call(1)
	s.give(block(2), nil)
	must(last(first()))
	same(s.Stats(), sno.Stats{Issued: 21, Taken: 3, Failed: 1, Failure: errAway}, "stats of blocks")
}

func readiness() {
	s := newStage(hours)
	wait := s.ready(ctx, sno.Until(s.now().Add(time.Hour)))
	same(<-s.asked, "SELECT snapshot::text, ((extract(epoch FROM until) * 250)::bigint - 315576000000)::text "+
		"FROM sno_borrow_partition('3600000 milliseconds', 65536) AS loan (snapshot, until)", "the statement for a loan")
	s.answers <- answer{row(1, s.now().Add(-unit), s.now().Add(time.Hour)), nil}
	must(wait())
	same(s.next(), uint16(1), "ready")
	must(s.Ready(ctx))
	s.pass(10 * time.Minute)
	must(s.Ready(ctx, sno.Until(s.now().Add(50*time.Minute))))
	ok(!s.UnderWay(), "ready: the present loan lasts")
	wait = s.ready(ctx, sno.Until(s.now().Add(55*time.Minute)))
	s.giveHour(2)
	must(wait())
	same(s.next(), uint16(1), "ready: the next loan lasts")
	s.pass(20 * time.Minute)
	wait = s.ready(ctx, sno.Until(s.now().Add(55*time.Minute)))
	s.giveHour(3)
	must(wait())
	s.pass(30*time.Minute + unit)
	same(s.next(), uint16(3), "ready: a later loan is the next one")
	err := s.Ready(ctx, sno.Until(s.now().Add(time.Hour+1)))
	ok(err != nil && strings.Contains(err.Error(), "a loan of 1h0m0s does not last until 2026-01-01T02:00:00.004Z"),
		"no loan lasts so long", err)

	s = newStage(func(q sno.Query) sno.Source { return sno.Loans(q, sno.WithCall("service_loan()")) })
	wait = s.ready(ctx, sno.Until(s.now().Add(2*time.Hour)))
	statement := <-s.asked
	ok(strings.HasSuffix(statement, " FROM service_loan() AS loan (snapshot, until)"), "the call of a function", statement)
	s.answers <- answer{row(1, s.now().Add(-unit), s.now().Add(time.Hour)), nil}
	refused(wait(), sno.ReasonOver, s.now().Add(time.Hour), "does not last until 2026-01-01T02:00:00.000Z", "a loan isn't so long")

	s = newStage(hours)
	canceled, cancel := context.WithCancel(ctx)
	wait = s.ready(canceled)
	<-s.asked
	cancel()
	err = wait()
	refused(err, sno.ReasonOver, time.Time{}, "canceled", "ready: its context ends")
	ok(errors.Is(err, context.Canceled), "and is the cause")
	s.answers <- answer{row(1, s.now().Add(-unit), s.now().Add(time.Hour)), nil}
	must(s.Ready(ctx))

	s = newStage(blocks)
	wait = s.ready(ctx, sno.Count(20))
	s.give(block(0), nil)
	s.give(block(1), nil)
	must(wait())
	must(last(s.Next(1)))
	must(s.Ready(ctx, sno.Count(19)))
	ok(!s.UnderWay(), "19 ids are ready")
	wait = s.ready(ctx, sno.Count(20))
	s.give(nil, errAway)
	refused(wait(), sno.ReasonOver, time.Time{}, errAway.Error(), "20 ids aren't")
	for _, n := range []int{0, -1, 21} {
		err := s.Ready(ctx, sno.Count(n))
		ok(err != nil && !errors.As(err, new(*sno.OutOfIDsError)), fmt.Sprint("never ready: ", n), err)
	}
}

func closed() {
	s := newStage(hours)
	before := runtime.NumGoroutine()
	none, wait := s.call(0), s.ready(ctx)
	<-s.asked
	s.Close()
	_, err := none()
	refused(err, sno.ReasonClosed, time.Time{}, "nil", "closed: a call that waits")
	refused(wait(), sno.ReasonClosed, time.Time{}, "nil", "closed: ready")
	_, err = s.Next(0)
	refused(err, sno.ReasonClosed, time.Time{}, "nil", "closed: another call")
	s.Close()
	until(func() bool { return runtime.NumGoroutine() <= before }, "no goroutine is left")
	same(s.Stats(), sno.Stats{}, "closed: nothing was taken, or failed")
	s = newStage(hours)
	s.Close()
	refused(s.Ready(ctx), sno.ReasonClosed, time.Time{}, "nil", "closed before it was used")

	s = newStage(func(q sno.Query) sno.Source { return sno.Loans(q, sno.WithSequences(1)) })
	first := s.call(0)
	s.give(slice(1, s.now().Add(-unit), s.now().Add(time.Hour), 0), nil)
	must(last(first()))
	none = s.call(0)
	s.waited(unit)
	s.Close()
	_, err = none()
	refused(err, sno.ReasonClosed, s.now().Add(time.Hour), "nil", "closed: a call that waits for the next unit")
}

// Sources that do what they shouldn't.
func nonsense() {
	s := newStage(hours)
	good := row(1, s.now().Add(-unit), s.now().Add(time.Hour))
	with := func(old, new string) [][]string {
		changed := strings.Replace(good[0][0], old, new, 1)
		if changed == good[0][0] {
			panic(old)
		}
		return [][]string{{changed, good[0][1]}}
	}
	end := func(until string) [][]string { return [][]string{{good[0][0], until}} }
	for name, rows := range map[string][][]string{
		"nothing":                    nil,
		"two rows":                   {good[0], good[0]},
		"a column":                   {{good[0][0]}},
		"three columns":              {{good[0][0], good[0][1], ""}},
		"no JSON":                    {{"x", good[0][1]}},
		"null":                       {{"null", good[0][1]}},
		"no object":                  {{"[1]", good[0][1]}},
		"no keys":                    {{"{}", good[0][1]}},
		"no partition":               with("partition", "x"),
		"a partition of one byte":    with("[0, 1]", "[1]"),
		"a partition of three":       with("[0, 1]", "[0, 1, 2]"),
		"a partition out of range":   with("[0, 1]", "[0, 256]"),
		"a partition below 0":        with("[0, 1]", "[0, -1]"),
		"a partition that is text":   with("[0, 1]", `"AAE="`),
		"no floor":                   with("wallHi", "x"),
		"no floor of the other":      with("wallSafe", "x"),
		"two floors":                 with(`"wallSafe": 1`, `"wallSafe": `),
		"a floor that is null":       with(`"wallHi": `, `"wallHi": null, "x": `),
		"a floor below 0":            with(`"wallHi": `, `"wallHi": -`),
		"no first sequence":          with("sequenceMin", "x"),
		"no last sequence":           with("sequenceMax", "x"),
		"a last sequence too high":   with(`"sequenceMax": 65535`, `"sequenceMax": 65536`),
		"a first one below 0":        with(`"sequenceMin": 0`, `"sequenceMin": -1`),
		"a first one after the last": with(`"sequenceMax": 65535, "sequenceMin": 0`, `"sequenceMax": 1, "sequenceMin": 2`),
		"no end":                     end(""),
		"an end of text":             end("tomorrow"),
		"an end at the floor":        end(fmt.Sprint(unitOf(s.now()) - 1)),
		"an end after all":           end("549755813888"),
	} {
		s = newStage(hours)
		none := s.call(0)
		s.give(rows, nil)
		_, err := none()
		refused(err, sno.ReasonOver, time.Time{}, "the query did not return a loan, but ", "a loan: "+name)
	}
	for name, rows := range map[string][][]string{
		"nothing":          nil,
		"too few":          block(0)[:9],
		"too many":         append(block(0), block(1)[0]),
		"two columns":      append(block(0)[:9], append(block(1)[0], "")),
		"no id":            append(block(0)[:9], []string{"BRPK4Q72XWF2M63L"}),
		"another metabyte": append(block(0)[:9], []string{sno.ID{}.String()}),
	} {
		s = newStage(blocks)
		none := s.call(1)
		s.give(rows, nil)
		_, err := none()
		refused(err, sno.ReasonOver, time.Time{}, "the query did not return ", "a block: "+name)
	}
	rows := block(0)
	twice, err := sno.NewGenerator(sno.Blocks(
		func(context.Context, string) ([][]string, error) { return rows, nil }, sno.WithCount(10), sno.WithMeta(1)))
	must(err)
	must(twice.Ready(context.Background()))
	refused(twice.Ready(context.Background(), sno.Count(20)), sno.ReasonOver, time.Time{},
		"the query gave an answer that it had given before: ", "an answer that comes twice")
	twice.Close()

	for name, bad := range map[string]func(context.Context, string) ([][]string, error){
		"panicked":            func(context.Context, string) ([][]string, error) { panic("at the disco") },
		"ended its goroutine": func(context.Context, string) ([][]string, error) { runtime.Goexit(); return nil, nil },
	} {
		ids, err := sno.NewGenerator(sno.Loans(bad))
		must(err)
		_, err = ids.Next(0)
		refused(err, sno.ReasonOver, time.Time{}, name, "the query "+name)
	}

	// One that hangs, whatever its context.
	asked, answers := make(chan bool), make(chan [][]string)
	c := newClock()
	ids, err := sno.NewGenerator(sno.Loans(func(context.Context, string) ([][]string, error) {
		asked <- true
		return <-answers, nil
	}))
	must(err)
	ids.SetClock(c.now, c.timer)
	s = stage{c, nil, ids}
	none := s.call(0)
	<-asked
	s.passWaited(5 * time.Second)
	_, err = none()
	refused(err, sno.ReasonOver, time.Time{}, "did not return in 5s", "the query hangs")
	s.passWaited(55 * time.Second)
	until(func() bool { return !s.UnderWay() }, "the query is left alone")
	_, err = s.Next(0)
	refused(err, sno.ReasonOver, time.Time{}, "did not return in 1m0s", "the query hung for a minute")
	s.pass(time.Second)
	next := s.call(0)
	<-asked
	for i := 1; i <= 2; i++ {
		answers <- row(i, s.now().Add(-unit), s.now().Add(time.Hour))
	}
	must(last(next()))
	until(func() bool { return !s.UnderWay() }, "the second one has ended")
	same(s.Stats(), sno.Stats{Issued: 1, Taken: 1, Failed: 1, Until: s.now().Add(time.Hour), Failure: s.Stats().Failure},
		"the next one doesn't, and of both answers one counts")
}

func arguments() {
	query := (&query{}).run
	for name, source := range map[string]sno.Source{
		"a duration of 3 ms":       sno.Loans(query, sno.WithDuration(unit-1)),
		"a duration of 0":          sno.Loans(query, sno.WithDuration(0)),
		"a negative duration":      sno.Loans(query, sno.WithDuration(-time.Hour)),
		"0 sequences":              sno.Loans(query, sno.WithSequences(0)),
		"65537 sequences":          sno.Loans(query, sno.WithSequences(65537)),
		"a call and a duration":    sno.Loans(query, sno.WithCall("f()"), sno.WithDuration(time.Hour)),
		"a call and sequences":     sno.Loans(query, sno.WithSequences(64), sno.WithCall("f()")),
		"blocks of no id":          sno.Blocks(query, sno.WithCount(0)),
		"blocks of -1 ids":         sno.Blocks(query, sno.WithCount(-1)),
		"blocks of 65537 ids":      sno.Blocks(query, sno.WithCount(65537)),
		"loans without a query":    sno.Loans(nil),
		"blocks without a query":   sno.Blocks(nil),
		"a source that isn't made": {},
	} {
		ids, err := sno.NewGenerator(source)
		ok(ids == nil && err != nil && strings.HasPrefix(err.Error(), "sno: "), "bad argument: "+name, err)
	}
	_, err := sno.NewGenerator(sno.Loans(query), sno.WithWait(-1))
	ok(err != nil, "bad argument: a negative wait", err)
	for _, source := range []sno.Source{sno.Loans(query, sno.WithDuration(unit), sno.WithSequences(1)),
		sno.Loans(query, sno.WithSequences(65536)), sno.Blocks(query, sno.WithCount(65536), sno.WithMeta(255))} {
		_, err := sno.NewGenerator(source)
		must(err)
	}
}

// manyIDs makes ids in 8 goroutines, all of which differ.  The metabyte is 200.
func manyIDs(ids *sno.Generator, each int, enough func() bool) []sno.ID {
	var group sync.WaitGroup
	var made [8][]sno.ID
	for i := range made {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for len(made[i]) < each || !enough() {
				id, err := ids.Next(200)
				if errors.As(err, new(*sno.OutOfIDsError)) {
					// The machine is so busy that new loans are over already.
					time.Sleep(10 * time.Millisecond)
					continue
				}
				must(err)
				made[i] = append(made[i], id)
			}
		}(i)
	}
	group.Wait()
	var together []sno.ID
	seen := map[sno.ID]bool{}
	for i := range made {
		together = append(together, made[i]...)
		for _, id := range made[i] {
			seen[id] = true
		}
	}
	if len(together) != len(seen) || uint64(len(seen)) != ids.Stats().Issued {
		panic(fmt.Sprintf("%d ids, of which %d differ", len(together), len(seen)))
	}
	return together
}

func all(ids []sno.ID, so func(sno.ID) bool) bool {
	for _, id := range ids {
		if !so(id) {
			return false
		}
	}
	return true
}

// brief is how long a loan lasts: so many ms, or longer if the machine is so busy that others
// came too late.
func brief(ms int64, ids *sno.Generator) time.Duration {
	late := ids.Stats().Failed
	if late > 20 {
		late = 20
	}
	return time.Duration(ms<<late) * time.Millisecond
}

func goroutines() {
	var partitions, atOnce, tooMany int32
	var ids *sno.Generator
	ids, err := sno.NewGenerator(sno.Loans(func(context.Context, string) ([][]string, error) {
		if atomic.AddInt32(&atOnce, 1) > 1 {
			atomic.AddInt32(&tooMany, 1)
		}
		defer atomic.AddInt32(&atOnce, -1)
		now := time.Now()
		runtime.Gosched()
		return slice(int(atomic.AddInt32(&partitions, 1)), now.Add(-unit), now.Add(brief(200, ids)), 999), nil
	}), sno.WithWait(longest))
	must(err)
	manyIDs(ids, 12500, func() bool { return atomic.LoadInt32(&partitions) > 2 })
	same(atomic.LoadInt32(&tooMany), int32(0), "8 goroutines: all ids differ, one loan at a time")
	ids.Close()
}

// A lender notes the loans of the database.
type lender struct {
	query sno.Query
	mutex sync.Mutex
	loans [][5]int64 // partition, floor, until, sequences
}

func (l *lender) run(ctx context.Context, statement string) ([][]string, error) {
	rows, err := l.query(ctx, statement)
	if err != nil {
		return nil, err
	}
	var s struct {
		Partition                []int64
		WallHi                   int64
		SequenceMin, SequenceMax int64
	}
	must(json.Unmarshal([]byte(rows[0][0]), &s))
	until, err := strconv.ParseInt(rows[0][1], 10, 64)
	must(err)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.loans = append(l.loans, [5]int64{s.Partition[0]<<8 | s.Partition[1], s.WallHi, until, s.SequenceMin, s.SequenceMax})
	return rows, nil
}

func (l *lender) taken() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.loans)
}

// lent tells whether the id is of a loan.
func (l *lender) lent(id sno.ID) bool {
	at, sequence := unitOf(id.Time()), int64(id.Sequence())
	for _, loan := range l.loans {
		if int64(id.Partition()) == loan[0] && loan[1] < at && at <= loan[2] && loan[3] <= sequence && sequence <= loan[4] {
			return true
		}
	}
	return false
}

func server() {
	db, err := sql.Open("postgres", "")
	must(err)
	l := &lender{query: sno.DB(db)}
	ids, err := sno.NewGenerator(sno.Loans(l.run), sno.WithWait(longest))
	must(err)
	must(ids.Ready(ctx, sno.Until(time.Now().Add(50*time.Minute))))
	before := time.Now().Add(-unit)
	made := manyIDs(ids, 12500, func() bool { return true })
	id := made[0]
	ok(!id.Time().Before(before) && ids.Stats().Taken == 1 && all(made, l.lent), fmt.Sprintf("%d ids of a partition", len(made)), id)
	ids.Close()

	// Loans of 100 ms, and sequences for 16,000 ids a second.
	l = &lender{query: func(ctx context.Context, statement string) ([][]string, error) {
		longer := fmt.Sprintf("'%d ", brief(100, ids).Milliseconds())
		return sno.DB(db)(ctx, strings.Replace(statement, "'100 ", longer, 1))
	}}
	ids, err = sno.NewGenerator(sno.Loans(l.run, sno.WithDuration(100*time.Millisecond), sno.WithSequences(64)), sno.WithWait(longest))
	must(err)
	made = manyIDs(ids, 1000, func() bool { return l.taken() > 16 })
	ids.Close()
	ok(all(made, l.lent), fmt.Sprintf("%d ids of %d slices", len(made), l.taken()), l.loans)

	ids, err = sno.NewGenerator(sno.Blocks(sno.DB(db), sno.WithMeta(200)), sno.WithWait(longest))
	must(err)
	made = manyIDs(ids, 500, func() bool { return true })
	ok(all(made, func(id sno.ID) bool { return id.Meta() == 200 }) && ids.Stats().Taken >= 8, fmt.Sprintf("%d ids of blocks", len(made)))
	ids.Close()

	// A role that may not borrow partitions, but call a function that does.
	_, err = db.Exec(`DO $$ BEGIN CREATE ROLE go_service; EXCEPTION WHEN duplicate_object THEN END $$`)
	must(err)
	_, err = db.Exec(`CREATE FUNCTION service_loan(OUT snapshot jsonb, OUT until timestamptz)
		LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT * FROM sno_borrow_partition('10 min', 256); END`)
	must(err)
	service, err := sql.Open("postgres", "options='-c role=go_service'")
	must(err)
	ids, err = sno.NewGenerator(sno.Loans(sno.DB(service)), sno.WithWait(longest))
	must(err)
	_, err = ids.Next(0)
	refused(err, sno.ReasonOver, time.Time{}, "permission denied for function sno_borrow_partition", "a role without the right")
	var cause *pq.Error
	ok(errors.As(err, &cause) && cause.Code == "42501", "the cause is the driver's error", err)
	ids, err = sno.NewGenerator(sno.Loans(sno.DB(service), sno.WithCall("service_loan()")), sno.WithWait(longest))
	must(err)
	id, err = ids.Next(9)
	ok(err == nil && id.Meta() == 9, "a function for the role", err)
	ids.Close()
}

func main() {
	loans()
	spares()
	away()
	clocks()
	ofBlocks()
	readiness()
	closed()
	nonsense()
	arguments()
	goroutines()
	server()
	done()
}
