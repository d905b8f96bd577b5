package workload

// Phase is how far a rollout is.
type Phase string

// The phases of a rollout.
const (
	// Rolling: the controller is at work, or has not begun.
	Rolling Phase = "Rolling"
	// RolledOut: all pods that are wanted run the newest template, and no other pod of the workload does.
	RolledOut Phase = "RolledOut"
	// Stalled: the controller has given up.
	Stalled Phase = "Stalled"
	// Waiting: nothing more happens until a user continues, as requested.
	Waiting Phase = "Waiting"
)

// Progress is how far the controller of a workload has brought its newest template, as far as the object itself says. It changes only when
// the phase does, not with every pod.
type Progress struct {
	Phase Phase
	// Why says in words why the phase is Stalled or Waiting.
	Why string
	// Observed reports whether the controller has seen the newest spec.
	Observed bool
	// Revision is another one whenever the template has changed, once the controller has seen that; empty for kinds that do not say.
	Revision string
	// Timed reports whether the controller itself gives up after some time without progress.
	Timed bool
	// Manual says why the controller begins no rollout by itself; empty if it does.
	Manual string
	// ViaSeen is the generation of the object named by TemplateOf that the controller has seen.
	ViaSeen int64
}

// Why a rollout waits for a user. WhyEmpty and WhySuspend leave no pod with old content.
const (
	WhyPaused   = "it is paused (spec.paused)"
	WhyOnDelete = "its pods are replaced only when they are deleted (update strategy OnDelete)"
	WhyEmpty    = "it has no replicas, and the next pods start with the new content"
	WhySuspend  = "it is suspended (spec.suspend)"
	WhyManual   = "it has no trigger of type ConfigChange, and the rollout must be started by hand"
	whyDeadline = "its progress deadline is exceeded"
)

// pods are the pods of a workload, as its spec asks for them and its status counts them.
type pods struct {
	// observed reports whether the status is about the newest spec.
	observed                          bool
	wanted, total, updated, available int32
	// stalled is why the controller has given up, and waits why it does not continue by itself; empty if neither.
	stalled, waits string
}

// phase says how far the rollout is, and if it does not continue, why.
func (p pods) phase() (Phase, string) {
	switch {
	case !p.observed:
		return Rolling, ""
	case p.wanted == 0:
		return Waiting, WhyEmpty
	case p.updated >= p.wanted && p.total <= p.updated && p.available >= p.wanted:
		return RolledOut, ""
	case p.waits != "":
		return Waiting, p.waits
	case p.stalled != "":
		return Stalled, p.stalled
	}
	return Rolling, ""
}

func (p pods) progress() Progress {
	phase, why := p.phase()
	return Progress{Phase: phase, Why: why, Observed: p.observed}
}

// through returns p for a workload that runs the template of an object of that generation.
func (p Progress) through(generation int64) Progress {
	if p.ViaSeen < generation {
		p.Phase, p.Why, p.Observed = Rolling, "", false
	}
	return p
}

// replicas returns what a field that means one if it is left out asks for.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// when returns why if the condition holds.
func when(condition bool, why string) string {
	if condition {
		return why
	}
	return ""
}
