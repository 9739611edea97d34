package sno

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	defaultWait = 5 * time.Second
	firstPause  = time.Second // after a failure
	lastPause   = time.Minute // after many
	queryLimit  = time.Minute // of a query
	answers     = 16          // that a generator remembers
	timeFormat  = "2006-01-02T15:04:05.000Z07:00"
)

func stamp(at time.Time) string { return at.UTC().Format(timeFormat) }

// A Generator makes ids of what its source gives.  Goroutines may share it: one serves the
// whole program.
type Generator struct {
	source Source
	wait   time.Duration
	now    func() time.Time
	timer  func(time.Duration) (fired <-chan time.Time, stop func() bool)
	closed chan struct{}

	mutex    sync.Mutex // for all below
	isClosed bool
	stock    stock
	attempt  *attempt      // the one under way
	pause    time.Duration // the last one, 0 after a success
	retry    time.Time     // the end of the pause
	given    []string      // first rows of the last answers
	stats    Stats
}

// An attempt to take a loan or a block.
type attempt struct {
	asked  time.Time
	cancel context.CancelFunc
	done   chan struct{}
}

// Stats tell what a Generator did.
type Stats struct {
	Issued  uint64    // ids
	Taken   uint64    // loans or blocks
	Failed  uint64    // attempts to take one
	Until   time.Time // the end of the present loan; zero without
	Failure error     // of the last attempt that failed
}

// A Reason is why there is no id.
type Reason string

// The reasons.
const (
	ReasonOver   Reason = "over"   // the loan is over or the block used up, and the source fails or is slow
	ReasonClock  Reason = "clock"  // the clock isn't within a loan
	ReasonClosed Reason = "closed" // the generator was closed
)

// OutOfIDsError tells why there is no id.
type OutOfIDsError struct {
	Reason Reason
	Until  time.Time // the end of the last loan; zero without
	Err    error     // what the source said, or nil
	at     time.Time
}

// Error implements error.
func (e *OutOfIDsError) Error() string {
	text := fmt.Sprintf("sno: out of ids at %s: %s", stamp(e.at), map[Reason]string{
		ReasonOver:   "no loan or block is left",
		ReasonClock:  "the clock is not within a loan",
		ReasonClosed: "the generator is closed",
	}[e.Reason])
	if !e.Until.IsZero() {
		text += fmt.Sprintf(", the last loan was until %s", stamp(e.Until))
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the source said.
func (e *OutOfIDsError) Unwrap() error { return e.Err }

// An Option is an argument of NewGenerator.
type Option func(*Generator)

// WithWait sets how long Next waits for a loan or a block at most.  The default is 5 s.
func WithWait(d time.Duration) Option { return func(g *Generator) { g.wait = d } }

// NewGenerator returns a Generator, or an error for bad arguments.  It doesn't use the
// source yet.
func NewGenerator(source Source, options ...Option) (*Generator, error) {
	g := &Generator{source: source, wait: defaultWait, now: time.Now, closed: make(chan struct{}), stock: source.stock()}
	g.timer = func(d time.Duration) (<-chan time.Time, func() bool) {
		timer := time.NewTimer(d)
		return timer.C, timer.Stop
	}
	for _, option := range options {
		option(g)
	}
	switch {
	case source.err != nil:
		return nil, source.err
	case source.query == nil:
		return nil, errors.New("sno: a generator needs a query")
	case g.wait < 0:
		return nil, fmt.Errorf("sno: a generator cannot wait for %v", g.wait)
	}
	return g, nil
}

// Next makes an id with the metabyte.  That of a block is the block's, and another one is
// refused.  Next waits if all ids of the present 4 ms were made, and for a loan or a block
// if there is none.  Its other errors are of type *OutOfIDsError.
func (g *Generator) Next(meta byte) (ID, error) {
	if g.source.count > 0 && meta != g.source.meta {
		return ID{}, fmt.Errorf("sno: the metabyte of the blocks is %d, not %d", g.source.meta, meta)
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for deadline := (time.Time{}); ; {
		now := g.now()
		if g.isClosed {
			return ID{}, g.outOfIDs(now, ReasonClosed, nil)
		}
		id, outcome := g.stock.next(unitOf(now), meta)
		if outcome == LoanIssued {
			g.stats.Issued++
			if g.stock.low(unitOf(now)) && g.attempt == nil && !now.Before(g.retry) {
				g.start()
			}
			return id, nil
		}

		if deadline.IsZero() {
			deadline = now.Add(g.wait)
		}
		delay, slow := deadline.Sub(now), !now.Before(deadline)
		var done <-chan struct{}
		if outcome == LoanWait {
			// Only for a loan that begins later one waits longer than a unit.
			next := timeOf(g.stock.after()).Sub(now)
			if next > unit*time.Millisecond && slow {
				return ID{}, g.missing(now, outcome)
			}
			if slow || next < delay {
				delay = next
			}
		} else {
			switch {
			case g.attempt == nil && now.Before(g.retry), g.attempt != nil && slow:
				return ID{}, g.missing(now, outcome)
			case g.attempt == nil:
				g.start()
			}
			done = g.attempt.done
		}
		fired, stop := g.timer(delay)
		g.await(fired, done, nil)
		stop()
	}
}

// await lets go of the mutex until one of these happens, or the generator is closed.
func (g *Generator) await(fired <-chan time.Time, done, given <-chan struct{}) {
	g.mutex.Unlock()
	defer g.mutex.Lock()
	select {
	case <-fired:
	case <-done:
	case <-given:
	case <-g.closed:
	}
}

// missing is the error of a call that the stock gave this outcome.
func (g *Generator) missing(now time.Time, outcome Outcome) error {
	reason, cause := ReasonOver, g.stats.Failure
	if g.pause == 0 {
		cause = fmt.Errorf("the query did not return in %v", g.wait)
	}
	if outcome != LoanOver || errors.As(cause, &errClock{}) {
		reason = ReasonClock
	}
	return g.outOfIDs(now, reason, cause)
}

func (g *Generator) outOfIDs(now time.Time, reason Reason, cause error) error {
	return &OutOfIDsError{Reason: reason, Until: g.stock.until(), Err: cause, at: now}
}

// start begins an attempt.  A query that doesn't return in time is left alone, so that one
// that hangs doesn't keep others from being tried.
func (g *Generator) start() {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{asked: g.now(), cancel: cancel, done: make(chan struct{})}
	g.attempt = a
	fired, stop := g.timer(queryLimit)
	go func() {
		defer stop()
		select {
		case <-fired:
			g.finish(a, nil, fmt.Errorf("the query did not return in %v", queryLimit))
		case <-ctx.Done():
		}
	}()
	go func() {
		var rows [][]string
		err := errors.New("the query ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the query panicked: %v", p)
			}
			g.finish(a, rows, err)
		}()
		rows, err = g.source.query(ctx, g.source.statement)
	}()
}

// finish ends an attempt, unless it was ended before.
func (g *Generator) finish(a *attempt, rows [][]string, err error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.attempt != a {
		return
	}
	g.attempt = nil
	a.cancel()
	close(a.done)
	now := g.now()
	if err == nil {
		err = g.remember(rows)
	}
	if err == nil {
		err = g.stock.add(rows, a.asked, now)
	}
	if err == nil {
		g.stats.Taken++
		g.pause, g.retry = 0, time.Time{}
		return
	}
	g.stats.Failed++
	g.stats.Failure = err
	if g.pause *= 2; g.pause == 0 {
		g.pause = firstPause
	} else if g.pause > lastPause {
		g.pause = lastPause
	}
	g.retry = now.Add(g.pause)
}

// remember refuses an answer that was given before: a cache would let ids come twice.
func (g *Generator) remember(rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	first := strings.Join(rows[0], "\t")
	for _, before := range g.given {
		if first == before {
			return fmt.Errorf("the query gave an answer that it had given before: %.200q", first)
		}
	}
	if len(g.given) == answers {
		g.given = g.given[1:]
	}
	g.given = append(g.given, first)
	return nil
}

// A Need is an argument of Ready.
type Need func(*needs)

type needs struct {
	until time.Time
	count int
}

// Until demands a loan that lasts until then.  Blocks have no end.
func Until(at time.Time) Need { return func(n *needs) { n.until = at } }

// Count demands so many ids of blocks, at most those of two.  Loans have no count.
func Count(n int) Need { return func(all *needs) { all.count = n } }

// Ready waits until there is a loan, or a block, or what else is demanded.  If it can't be
// had, the error is of type *OutOfIDsError.
func (g *Generator) Ready(ctx context.Context, demands ...Need) error {
	need := needs{count: 1}
	for _, demand := range demands {
		demand(&need)
	}
	if most := 2 * g.source.count; most > 0 && (need.count < 1 || need.count > most) {
		return fmt.Errorf("sno: 1 to %d ids of two blocks can be ready, not %d", most, need.count)
	}
	if d := g.source.duration; d > 0 && need.until.After(g.now().Add(d)) {
		return fmt.Errorf("sno: a loan of %v does not last until %v", d, stamp(need.until))
	}

	g.mutex.Lock()
	defer g.mutex.Unlock()
	for tried := false; ; {
		now := g.now()
		switch {
		case g.isClosed:
			return g.outOfIDs(now, ReasonClosed, nil)
		case g.stock.has(unitOf(now), need):
			return nil
		case ctx.Err() != nil:
			return g.outOfIDs(now, ReasonOver, ctx.Err())
		case g.attempt != nil:
		case now.Before(g.retry):
			return g.missing(now, LoanOver)
		case tried && g.source.count == 0:
			return g.outOfIDs(now, ReasonOver, fmt.Errorf("a new loan does not last until %v", stamp(need.until)))
		default:
			g.start()
			tried = true
		}
		g.await(nil, g.attempt.done, ctx.Done())
	}
}

// Stats returns what was done up to now.
func (g *Generator) Stats() Stats {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	stats := g.stats
	stats.Until = g.stock.until()
	return stats
}

// Close ends an attempt that is under way, and calls that wait.  From now on there are no
// ids.
func (g *Generator) Close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.isClosed {
		return
	}
	g.isClosed = true
	close(g.closed)
	if g.attempt != nil {
		g.attempt.cancel()
		g.attempt = nil
	}
}
