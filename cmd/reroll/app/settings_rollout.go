package app

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Rollouts say what is done about what follows a reload.
type Rollouts struct {
	RolloutDeadline      time.Duration
	HaltOnFailedRollouts bool
}

func (r *Rollouts) bind(f *pflag.FlagSet) {
	f.DurationVar(&r.RolloutDeadline, "rollout-deadline", 10*time.Minute, "when a rollout has stalled whose controller sets no deadline, as those of StatefulSets and DaemonSets; 0 is never")
	f.BoolVar(&r.HaltOnFailedRollouts, "halt-on-failed-rollouts", false, "give a change to one workload first, then to a tenth of the others, then to the rest, each when the rollouts before have ended; if one stalls, hold the rest")
}

func (r *Rollouts) check() error {
	if r.RolloutDeadline < 0 {
		return fmt.Errorf("--rollout-deadline: %s is negative", r.RolloutDeadline)
	}
	return nil
}
