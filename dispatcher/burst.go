package dispatcher

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Records of reloads make way for patches, so that the last of many dependents does not wait until the first ones are written down and
// announced. Until then the workload itself says what was done to it.

const (
	// recordDelay is how long a record makes way at a time.
	recordDelay = 100 * time.Millisecond
	// recordMaxDelay is after what time a record makes way no more: a fan-out that takes longer is seen to go on.
	recordMaxDelay = 2 * time.Second
)

// rolling takes note that a workload is being rolled until the returned function is called.
func (d *Dispatcher) rolling() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.underWay--
	}
}

// makesWay reports whether the record of ref is to wait because workloads are being rolled.
func (d *Dispatcher) makesWay(ref reloader.WorkloadRef) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since, late := d.late[ref]
	if d.underWay == 0 || late && time.Since(since) >= recordMaxDelay {
		delete(d.late, ref)
		return false
	}
	if !late {
		d.late[ref] = time.Now()
	}
	return true
}

// settleRest has recorded at once what still makes way.
func (d *Dispatcher) settleRest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.finished {
		d.settleQ.Add(ref)
	}
	for ref := range d.late {
		d.settleQ.Add(ref)
	}
}
