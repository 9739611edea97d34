package sno

import "time"

// SetClock lets a generator have another clock.
func (g *Generator) SetClock(now func() time.Time, timer func(time.Duration) (<-chan time.Time, func() bool)) {
	g.now, g.timer = now, timer
}

// UnderWay tells whether there is an attempt to take a loan or a block.
func (g *Generator) UnderWay() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.attempt != nil
}
