package app

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// bindMarks declares the flags that say which workloads are marked, and how.
func (s *Settings) bindMarks(f *pflag.FlagSet) {
	f.StringVar(&s.Namespace, "namespace", "", "Reroll's own namespace, which holds the Secret reroll-digest-key; default: that of the pod or context")
	f.Float32Var(&s.KubeQPS, "kube-qps", 500, "requests per second to the API server")
	f.IntVar(&s.KubeBurst, "kube-burst", 1000, "requests to the API server in one burst")
	f.StringVar(&s.ReloadStrategy, "reload-strategy", mark.General[0], "how workloads are marked: "+strings.Join(mark.General, " or "))
	f.BoolVar(&s.ToolMarks, "tool-marks", true, "write the marks of other tools into workloads with their annotations, which are unkeyed hashes of content; without, the hash of Reroll alone")
	f.StringSliceVar(&s.Dialects, dialectsFlag, dialectNames(), "whose annotations are read")
	f.BoolVar(&s.DryRun, "dry-run", false, "decide and record, but write nothing to the cluster")
	s.bindStakaterMarks(f)
}

// checkMarks checks what bindMarks declares.
func (s *Settings) checkMarks() error {
	if !slices.Contains(mark.General, s.ReloadStrategy) {
		return fmt.Errorf("--reload-strategy: %q is not %s", s.ReloadStrategy, strings.Join(mark.General, " or "))
	}
	if _, err := dialect.All(dialect.StakaterOptions{}).Choose(s.Dialects); err != nil {
		return fmt.Errorf("--%s: %w", dialectsFlag, err)
	}
	if qps := float64(s.KubeQPS); !(qps > 0) || math.IsInf(qps, 1) || s.KubeBurst <= 0 {
		return errors.New("--kube-qps and --kube-burst must be positive numbers")
	}
	return nil
}
