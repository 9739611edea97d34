package sno

import (
	"encoding/binary"
	"time"
)

// A Loan is a partition, or some of its sequences, in which nobody else makes ids until it
// is over.  It reads no clock, and waits for nothing.  Only one goroutine at a time may use
// it.
//
// Its times are units: 4 ms each, since 2010-01-01 UTC.
type Loan struct {
	partition   uint16
	first, last uint16
	until       int64
	side        int // that of the next id
	used        [2]struct {
		unit     int64
		sequence uint16
	}
}

// NewLoan returns a loan of the sequences first to last of a partition.  All its ids are of
// units after the floor, and none is of a unit after until.
func NewLoan(partition uint16, floor int64, first, last uint16, until int64) *Loan {
	l := &Loan{partition: partition, first: first, last: last, until: until}
	for side := range l.used {
		l.used[side].unit, l.used[side].sequence = floor, last
	}
	return l
}

// An Outcome tells whether a loan made an id.
type Outcome int

// The outcomes.
const (
	LoanIssued Outcome = iota // here is an id
	LoanWait                  // all ids of this unit were made
	LoanBehind                // the clock was set back before what both sides used
	LoanOver                  // no id may be made any more
)

// Next makes an id with the metabyte, if the clock shows that unit.
func (l *Loan) Next(unit int64, meta byte) (id ID, outcome Outcome) {
	sequence := l.first
	switch mine, other := &l.used[l.side], &l.used[1-l.side]; {
	case unit > l.until:
		return ID{}, LoanOver
	case unit > mine.unit:
	case unit == mine.unit:
		if mine.sequence == l.last {
			return ID{}, LoanWait
		}
		sequence = mine.sequence + 1
	case unit > other.unit:
		l.side = 1 - l.side
	default:
		return ID{}, LoanBehind
	}
	used := &l.used[l.side]
	used.unit, used.sequence = unit, sequence
	binary.BigEndian.PutUint64(id[:], uint64(unit)<<25|uint64(l.side)<<24|uint64(meta)<<16|uint64(l.partition))
	binary.BigEndian.PutUint16(id[8:], sequence)
	return id, LoanIssued
}

// unitOf is the unit that holds the time.
func unitOf(at time.Time) int64 { return (at.UnixMilli() - epoch) >> 2 }

// timeOf is when a unit begins.
func timeOf(unit int64) time.Time { return time.UnixMilli(epoch + unit<<2).UTC() }
