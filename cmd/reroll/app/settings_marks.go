package app

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// bindMarks declares the flags that say which workloads are marked, and how.
func (s *Settings) bindMarks(f *pflag.FlagSet) {
	f.StringVar(&s.Namespace, "namespace", "", "Reroll's own namespace, which holds the Secret reroll-digest-key; default: that of the pod or context")
	f.Float32Var(&s.KubeQPS, "kube-qps", 500, "requests per second to the API server")
	f.IntVar(&s.KubeBurst, "kube-burst", 1000, "requests to the API server in one burst")
	f.StringVar(&s.ReloadStrategy, "reload-strategy", strategy.EnvVars.Name, "how workloads are marked: "+strategyNames())
	f.StringVar(&s.MarkValues, "mark-values", markCompatible, "what marks of other tools' dialects are made of: compatible as the tools make them, which are mostly unkeyed hashes of content, or keyed with the digest key. Changing it rolls nothing")
	f.StringSliceVar(&s.Dialects, dialectsFlag, dialectNames(), "whose annotations are read")
	f.BoolVar(&s.DryRun, "dry-run", false, "decide and record, but write nothing to the cluster")
	s.bindStakaterMarks(f)
}

// The values of --mark-values.
const (
	markCompatible = "compatible"
	markKeyed      = "keyed"
)

// checkMarks checks what bindMarks declares.
func (s *Settings) checkMarks() error {
	if !slices.ContainsFunc(strategy.All, func(one strategy.Strategy) bool { return one.Name == s.ReloadStrategy }) {
		return fmt.Errorf("--reload-strategy: %q is not %s", s.ReloadStrategy, strategyNames())
	}
	if s.MarkValues != markCompatible && s.MarkValues != markKeyed {
		return fmt.Errorf("--mark-values: %.40q is neither %s nor %s", s.MarkValues, markCompatible, markKeyed)
	}
	if _, err := dialect.All(dialect.StakaterOptions{}).Choose(s.Dialects); err != nil {
		return fmt.Errorf("--%s: %w", dialectsFlag, err)
	}
	if qps := float64(s.KubeQPS); !(qps > 0) || math.IsInf(qps, 1) || s.KubeBurst <= 0 {
		return errors.New("--kube-qps and --kube-burst must be positive numbers")
	}
	return nil
}
