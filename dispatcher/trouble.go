package dispatcher

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// The process is ready when every workload has its baselines on record, because then no later edit can be missed. A workload whose own
// annotations, configs or records make that fail must not keep all others waiting. What fails for everybody, as while NATS or the API server
// is away, must.

// stage is a step on the way to baselines on record.
type stage int

const (
	// reading is reading what a workload depends on, and recording is storing what is known of it.
	reading stage = iota
	recording
	stages
)

// trouble is how attempts at one workload fail.
type trouble struct {
	// times is how many have failed in a row.
	times int
	// own says that it is the workload's own trouble: attempts at others have succeeded, or the API server has answered often enough that it
	// cannot serve what this one needs.
	own bool
}

// maxTrouble is how many attempts in a row fail, within a second or two, of a workload that alone has trouble.
const maxTrouble = 5

// tried takes note of an attempt at t, and reports whether it failed for a reason of t's own. The caller holds mu.
func (d *Dispatcher) tried(t *tracked, s stage, err error) (own bool) {
	of := &t.trouble[s]
	if err == nil {
		d.succeeded[s] = true
		*of = trouble{}
		return false
	}
	of.times++
	of.own = d.succeeded[s] && of.times >= maxTrouble || apierrors.IsInternalError(err) && of.times >= maxBroken
	return of.own
}

// troubled reports whether t has trouble of its own.
func (t *tracked) troubled() bool { return t.trouble[reading].own || t.trouble[recording].own }
