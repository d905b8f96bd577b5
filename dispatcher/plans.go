package dispatcher

import (
	"sync"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// plans keeps the plan of the version of each workload that was asked about last.
type plans struct {
	mu sync.Mutex
	of map[reloader.WorkloadRef]*dialect.Plan
}

// planOf returns what the annotations of w say.
func (d *Dispatcher) planOf(w *workload.Workload) *dialect.Plan {
	ref := w.Ref()
	d.plans.mu.Lock()
	defer d.plans.mu.Unlock()
	p := d.plans.of[ref]
	if p == nil || p.Workload != w {
		compiled := d.Dialects.Compile(w)
		p = &compiled
		d.plans.of[ref] = p
	}
	return p
}

// drop forgets the plan of a workload.
func (p *plans) drop(ref reloader.WorkloadRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, ref)
}
