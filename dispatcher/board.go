package dispatcher

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/hot"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

// common is what every part of a Dispatcher uses without a lock.
type common struct {
	Options
	queues
	metrics *metrics.Metrics
	fleet   *fleet.Fleet
	// asks bounds requests to pods.
	asks hot.Gate
	// ready is when the first sweep ended; nil until then, and when the process ends.
	ready atomic.Pointer[time.Time]
	// answered says that some config could be decided about: while none can, the trouble is not that of one workload.
	answered atomic.Bool
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
	x := &index{
		byRef: map[reloader.WorkloadRef]*tracked{}, byConfig: map[reloader.Config][]*tracked{},
		patterned: map[string]map[reloader.WorkloadRef]*tracked{}, edges: map[string]int{},
	}
	all := configs{}
	in := &intake{letters: map[reloader.Config]*letters{}, looking: map[reloader.Config]bool{}}
	r := &records{common: shared, earlier: map[reloader.WorkloadRef]reloader.WorkloadRecord{}, finished: map[reloader.WorkloadRef][]finished{}}
	g := &gate{common: shared, index: x, configs: all, intake: in}
	return &memory{board: &board{
		common: shared, index: x, configs: all, intake: in, records: r, paused: paused{}, gate: g,
		states: &states{
			common: shared, index: x, texts: map[reloader.WorkloadRef]string{}, changed: map[string]map[reloader.WorkloadRef]struct{}{},
			writing: map[string]bool{},
		},
		history:  &history{common: shared, index: x, records: r},
		scribe:   &scribe{common: shared, configs: all},
		rollouts: &rollouts{common: shared, records: r, gate: g},
	}}
}
