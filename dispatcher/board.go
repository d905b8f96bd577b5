package dispatcher

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

// common is what every part of a Dispatcher uses without a lock.
type common struct {
	Options
	queues
	metrics *metrics.Metrics
	fleet   *fleet.Fleet
	ready   atomic.Bool
	// answered says that some config could be decided about: while none can, the trouble is not that of one workload.
	answered atomic.Bool
	// swept is when the first sweep ended, in nanoseconds; 0 until then.
	swept atomic.Int64
	// workers are those of workloadQ.
	workers *fair
}

// instead returns the outcome of a workload that is to roll.
func (d *common) instead() reloader.Reason {
	switch {
	case d.DryRun:
		return reloader.ReasonDryRun
	case d.Webhook != nil:
		return reloader.ReasonNotified
	}
	return reloader.ReasonReloaded
}

// readyAt returns when the first sweep ended; a time in the future until then.
func (d *common) readyAt() time.Time {
	if at := d.swept.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now().Add(time.Hour)
}

// memory is what a Dispatcher knows, behind its lock. Only lock returns the board. So code that has the board, or a part of it, runs under the
// lock, and no method of these types locks or waits.
type memory struct {
	mu    sync.Mutex
	board *board
}

func (m *memory) lock() *board {
	m.mu.Lock()
	return m.board
}

func (m *memory) unlock() { m.mu.Unlock() }

// board has the parts of the memory.
type board struct {
	*common
	index    *index
	configs  configs
	intake   *intake
	states   *states
	records  *records
	paused   paused
	history  *history
	scribe   *scribe
	gate     *gate
	rollouts *rollouts
}

func newMemory(shared *common) *memory {
	b := &board{
		common: shared, index: newIndex(), configs: configs{}, intake: newIntake(), records: newRecords(shared),
		paused: paused{},
	}
	b.states = newStates(shared, b.index)
	b.history = &history{common: shared, index: b.index, records: b.records}
	b.scribe = &scribe{common: shared, configs: b.configs}
	b.gate = newGate(b)
	b.rollouts = &rollouts{common: shared, records: b.records, gate: b.gate}
	return &memory{board: b}
}
