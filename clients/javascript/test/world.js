// Clocks and timers that a test moves, in place of those of the language.

'use strict'

const real = { now: Date.now, setTimeout, clearTimeout }
const turn = () => new Promise((resolve) => setImmediate(resolve))

class World {
  steady = 0    // ms that have passed
  timers = new Set()
  fired = 0

  constructor(at) {
    this.at = at    // what the clock shows
    Date.now = () => this.at
    // In Node.js 18, the property is read-only.
    Object.defineProperty(performance, 'now', { value: () => this.steady, configurable: true })
    globalThis.setTimeout = (action, ms) => {
      const timer = { action, at: this.steady + (ms < 2 ** 31 ? ms : 1), held: true, unref: () => { timer.held = false } }
      this.timers.add(timer)
      return timer
    }
    globalThis.clearTimeout = (timer) => this.timers.delete(timer)
  }

  // Let time pass, with what is due, and all that follows at once.
  async pass(ms) {
    await turn()
    const end = this.steady + ms
    for (;;) {
      const [next] = [...this.timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)
      const to = next ? Math.max(next.at, this.steady) : end
      this.at += to - this.steady
      this.steady = to
      if (!next) return
      this.timers.delete(next)
      this.fired++
      next.action()
      await turn()
    }
  }

  end() {
    Date.now = real.now
    delete performance.now
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
  }
}

module.exports = { World }
