package sno

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A Query runs a statement that has no parameters, in a transaction of its own.  The
// transaction has committed when it returns.  It returns the rows, whose columns are text.
type Query func(ctx context.Context, statement string) ([][]string, error)

// DB returns the query of a pool of database/sql.
func DB(db *sql.DB) Query {
	return func(ctx context.Context, statement string) (found [][]string, err error) {
		defer func() {
			if sqlState(err) == "25006" {
				closeOne(db)
			}
		}()
		rows, err := db.QueryContext(ctx, statement)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			row := make([]string, len(columns))
			into := make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			if err = rows.Scan(into...); err != nil {
				return nil, err
			}
			found = append(found, row)
		}
		return found, rows.Err()
	}
}

// closeOne closes a connection of the pool that is not in use.  After a failover, the primary is another server.
func closeOne(db *sql.DB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if conn, err := db.Conn(ctx); err == nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// A Source is where a Generator gets loans or blocks from: Loans or Blocks.
type Source struct {
	query     Query
	statement string
	duration  time.Duration // of a loan; 0 if it isn't known
	count     int           // ids of a block; 0 if the source gives loans
	meta      byte          // of a block
	err       error         // a bad argument
}

// A LoanOption is an argument of Loans.
type LoanOption func(*loanOptions)

type loanOptions struct {
	duration  *time.Duration
	sequences *int
	call      string
}

// WithDuration sets how long loans last: whole milliseconds, at least 4.  The default is
// an hour.
func WithDuration(d time.Duration) LoanOption { return func(o *loanOptions) { o.duration = &d } }

// WithSequences sets how many sequences of a partition a loan has: 1 to 65536, the default.
// Each allows an id each 4 ms.
func WithSequences(n int) LoanOption { return func(o *loanOptions) { o.sequences = &n } }

// WithCall sets the call of a function that lends partitions in place of
// sno_borrow_partition().  It returns the same columns.
func WithCall(call string) LoanOption { return func(o *loanOptions) { o.call = call } }

// Loans is the source that borrows partitions.  NewGenerator returns an error for bad
// arguments.
func Loans(query Query, options ...LoanOption) Source {
	var o loanOptions
	for _, option := range options {
		option(&o)
	}
	s := Source{query: query}
	if o.call == "" {
		sequences := 65536
		s.duration = time.Hour
		if o.duration != nil {
			s.duration = o.duration.Truncate(time.Millisecond)
		}
		if o.sequences != nil {
			sequences = *o.sequences
		}
		if s.duration < unit*time.Millisecond {
			s.err = fmt.Errorf("sno: a loan must last 4 ms or longer, not %v", s.duration)
		}
		if sequences < 1 || sequences > 65536 {
			s.err = fmt.Errorf("sno: a loan must have 1 to 65536 sequences, not %d", sequences)
		}
		o.call = fmt.Sprintf("sno_borrow_partition('%d milliseconds', %d)", s.duration.Milliseconds(), sequences)
	} else if o.duration != nil || o.sequences != nil {
		s.err = fmt.Errorf("sno: WithCall allows neither WithDuration nor WithSequences")
	}
	s.statement = fmt.Sprintf("SELECT snapshot::text, ((extract(epoch FROM until) * %d)::bigint - %d)::text "+
		"FROM %s AS loan (snapshot, until)", 1000/unit, epoch/unit, o.call)
	return s
}

// A BlockOption is an argument of Blocks.
type BlockOption func(*Source)

// WithCount sets how many ids a block has: 1 to 65536.  The default is 500.
func WithCount(n int) BlockOption { return func(s *Source) { s.count = n } }

// WithMeta sets the metabyte of the ids of blocks.  The default is 0.
func WithMeta(meta byte) BlockOption { return func(s *Source) { s.meta = meta } }

// Blocks is the source that fetches ids ahead, which the database makes.  NewGenerator
// returns an error for bad arguments.
func Blocks(query Query, options ...BlockOption) Source {
	s := Source{query: query, count: 500}
	for _, option := range options {
		option(&s)
	}
	if s.count < 1 || s.count > 65536 {
		s.err = fmt.Errorf("sno: a block must have 1 to 65536 ids, not %d", s.count)
	}
	s.statement = fmt.Sprintf("SELECT id::text FROM sno_generate_many(%d, %d) AS id", s.count, s.meta)
	return s
}

// stock makes what keeps the ids or loans that the source gives.
func (s Source) stock() stock {
	if s.count > 0 {
		return &blockStock{count: s.count, meta: s.meta}
	}
	return &loanStock{}
}

// A stock is what a source gave, as far as it is of use.  A Generator's mutex guards it.
type stock interface {
	// add takes what a query returned that was asked for at a time, and has it now.
	add(rows [][]string, asked, now time.Time) error
	// next makes an id.
	next(unit int64, meta byte) (ID, Outcome)
	// after is the unit that LoanWait waits for: not this one, but the next.
	after() int64
	// low tells whether it is time to take more.
	low(unit int64) bool
	// has tells whether there is what is needed.
	has(unit int64, need needs) bool
	// until is when the present loan ends.
	until() time.Time
}

// errClock is a loan that the clock isn't in.
type errClock struct{ error }

// heldLoan is a loan with what its holder knows.
type heldLoan struct {
	Loan
	floor int64
	half  int64 // when half of its time has passed
}

// patience is for how many units one waits for a loan to begin: for a second.
const patience = 1000 / unit

// next is as that of Loan.  But a new loan that begins soon is worth a wait.
func (l *heldLoan) next(unit int64, meta byte) (ID, Outcome) {
	id, outcome := l.Next(unit, meta)
	if outcome == LoanBehind && l.used[0].unit == l.floor && l.floor-unit <= patience {
		outcome = LoanWait
	}
	return id, outcome
}

// serves tells whether the next call of next makes an id, or waits for one.
func (l *heldLoan) serves(unit int64) bool {
	copied := *l
	_, outcome := copied.next(unit, 0)
	return outcome <= LoanWait
}

type loanStock struct{ present, spare *heldLoan }

func (s *loanStock) add(rows [][]string, asked, now time.Time) error {
	loan, err := readLoan(rows)
	if err != nil {
		return err
	}
	at := unitOf(now)
	if unitOf(asked) <= loan.until && loan.until < at {
		return fmt.Errorf("a new loan, until %v, came too late: it was asked for at %v, and now it is %v",
			stamp(timeOf(loan.until)), stamp(asked), stamp(now))
	}
	if !loan.serves(at) {
		return errClock{fmt.Errorf("the clock, at %v, is not within a new loan, which is from %v until %v",
			stamp(now), stamp(timeOf(loan.floor+1)), stamp(timeOf(loan.until)))}
	}
	loan.half = at + (loan.until-at)/2
	if s.present == nil {
		s.present = loan
	} else if s.spare == nil || s.spare.until < loan.until {
		s.spare = loan
	}
	return nil
}

func (s *loanStock) next(unit int64, meta byte) (id ID, outcome Outcome) {
	if s.present == nil {
		return ID{}, LoanOver
	}
	id, outcome = s.present.next(unit, meta)
	if outcome > LoanWait && s.spare != nil {
		s.present, s.spare = s.spare, nil
		id, outcome = s.present.next(unit, meta)
	}
	return id, outcome
}

func (s *loanStock) after() int64        { return s.present.used[s.present.side].unit + 1 }
func (s *loanStock) low(unit int64) bool { return s.spare == nil && unit >= s.present.half }

func (s *loanStock) has(unit int64, need needs) bool {
	for _, loan := range []*heldLoan{s.present, s.spare} {
		if loan != nil && loan.serves(unit) && unitOf(need.until) <= loan.until {
			return true
		}
	}
	return false
}

func (s *loanStock) until() time.Time {
	if s.present == nil {
		return time.Time{}
	}
	return timeOf(s.present.until)
}

// readLoan reads the row of a loan.
func readLoan(rows [][]string) (*heldLoan, error) {
	var snapshot struct {
		Partition                []int
		WallHi, WallSafe         *int64
		SequenceMin, SequenceMax *uint16
	}
	if len(rows) == 1 && len(rows[0]) == 2 && json.Unmarshal([]byte(rows[0][0]), &snapshot) == nil {
		until, err := strconv.ParseInt(rows[0][1], 10, 64)
		p, floor, safe := snapshot.Partition, snapshot.WallHi, snapshot.WallSafe
		first, last := snapshot.SequenceMin, snapshot.SequenceMax
		if err == nil && len(p) == 2 && (p[0]|p[1])>>8 == 0 && first != nil && last != nil && *first <= *last &&
			floor != nil && safe != nil && *floor == *safe && 0 <= *floor && *floor < until && until <= lastUnit {
			return &heldLoan{Loan: *NewLoan(uint16(p[0]<<8|p[1]), *floor, *first, *last, until), floor: *floor}, nil
		}
	}
	return nil, wrongRows("a loan", rows)
}

func wrongRows(wanted string, rows [][]string) error {
	first := rows
	if len(first) > 1 {
		first = first[:1]
	}
	return fmt.Errorf("the query did not return %s, but %d rows: %.200q", wanted, len(rows), first)
}

// blockStock has the rest of a block, and those fetched after it.
type blockStock struct {
	ids   []ID
	count int // of a block
	meta  byte
}

func (s *blockStock) add(rows [][]string, _, _ time.Time) error {
	ids := s.ids
	for _, row := range rows {
		if len(row) != 1 {
			return wrongRows("a block", rows)
		}
		id, err := Parse(row[0])
		if err != nil || id.Meta() != s.meta {
			return wrongRows("a block", rows)
		}
		ids = append(ids, id)
	}
	if len(rows) != s.count {
		return wrongRows(fmt.Sprintf("%d ids", s.count), rows)
	}
	s.ids = ids
	return nil
}

func (s *blockStock) next(int64, byte) (id ID, outcome Outcome) {
	if len(s.ids) == 0 {
		return ID{}, LoanOver
	}
	id, s.ids = s.ids[0], s.ids[1:]
	return id, LoanIssued
}

func (s *blockStock) after() int64                 { return 0 }
func (s *blockStock) low(int64) bool               { return len(s.ids) <= s.count/2 }
func (s *blockStock) has(_ int64, need needs) bool { return len(s.ids) >= need.count }
func (s *blockStock) until() time.Time             { return time.Time{} }
