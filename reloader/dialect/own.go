package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Restart is the strategy that replaces the pods of a Rollout and leaves its template as it is.
const Restart = "restart"

const (
	ownIgnore = OwnPrefix + "ignore"
	// FollowKey lists configs of other clusters that a workload follows, as cluster/namespace/kind/name, separated by commas.
	FollowKey = OwnPrefix + "follow"
	// RetryKey asks for another try of a workload.
	RetryKey    = OwnPrefix + "retry"
	strategyKey = OwnPrefix + "strategy"
)

// Own returns the dialect of Reroll itself. Its prohibitions and choices hold for all others as well. It alone can say that a workload follows configs of other clusters.
func Own() *Dialect {
	d := &Dialect{
		Tool: Tool{Name: "reroll", Domain: "reroll.dev"},
		Clauses: []Clause{
			{ownIgnore, OnConfig, nil, Ignore, True},
			{ownIgnore, OnWorkload, nil, Ignore, True},
			{OwnPrefix + "exclude", OnWorkload, nil, Forbid, Globs},
			{OwnPrefix + "configmaps", OnWorkload, configMaps, Ask, Globs},
			{OwnPrefix + "secrets", OnWorkload, secrets, Ask, Globs},
			{OwnPrefix + "auto", OnWorkload, nil, AskReferenced, Bool},
			{OwnPrefix + "configmap-selector", OnWorkload, configMaps, Ask, Selector},
			{OwnPrefix + "secret-selector", OnWorkload, secrets, Ask, Selector},
			{FollowKey, OnWorkload, plainConfigs, Ask, Followed},
		},
		Choices: append([]Choice{
			{strategyKey, chooseStrategy, "the installation's strategy applies"},
			{OwnPrefix + "window", chooseWindow, "the installation's window applies"},
			{OwnPrefix + "min-interval", chooseMinInterval, "the longest interval applies"},
			{OwnPrefix + "maintenance-window", chooseMaintenance, "the workload is held until the value is valid"},
			{OwnPrefix + "keys", chooseKeys, "every key counts"},
		}, hotChoices()...),
		Mounted:   true,
		Overrules: true,
	}
	known := []string{RetryKey, OwnPrefix + "applied", mark.RequestedKey}
	for _, c := range d.Clauses {
		known = append(known, c.Key)
	}
	for _, c := range d.Choices {
		known = append(known, c.Key)
	}
	d.Faults = func(w *workload.Workload) []string { return unknownKeys(w, known) }
	return d
}

// chooseStrategy lets every kind of workload choose among all strategies that work for it.
func chooseStrategy(w *workload.Workload, value string, chosen *Chosen) error {
	if slices.Contains(HotStrategies, value) {
		return chooseHot(w, value, chosen)
	}
	names := append(slices.Clone(mark.General), HotStrategies...)
	if w.Kind == workload.Rollout.Kind {
		names = append(names, Restart)
	}
	slices.Sort(names)
	if !slices.Contains(names, value) {
		return fmt.Errorf("%.40q is not one of %s", value, strings.Join(names, ", "))
	}
	chosen.Strategy = cmp.Or(chosen.Strategy, value)
	return nil
}

func chooseWindow(_ *workload.Workload, value string, chosen *Chosen) error {
	period, err := duration(value, maxWindow)
	if err == nil && value != "" {
		chosen.Debounce = &period
	}
	return err
}

func chooseMinInterval(_ *workload.Workload, value string, chosen *Chosen) (err error) {
	if chosen.MinInterval, err = duration(value, maxPausePeriod); err != nil {
		chosen.MinInterval = maxPausePeriod
	}
	return err
}

func chooseMaintenance(_ *workload.Workload, value string, chosen *Chosen) (err error) {
	if value == "" {
		return nil
	}
	if chosen.Maintenance, err = control.ParseWindows(value); err != nil {
		chosen.Maintenance = []control.Window{control.Never()}
	}
	return err
}

func chooseKeys(_ *workload.Workload, value string, chosen *Chosen) (err error) {
	chosen.Keys, err = ParseKeys(value)
	return err
}

// unknownKeys returns a Problem for each annotation of Reroll on w that is not one of known.
func unknownKeys(w *workload.Workload, known []string) []string {
	var found []string
	for key := range w.Annotations {
		if !strings.HasPrefix(key, OwnPrefix) || slices.Contains(known, key) {
			continue
		}
		fault := fmt.Sprintf("%.80q: there is no such annotation of workloads", key)
		if meant, ok := near.Word(key, known); ok {
			fault += "; did you mean " + meant + "?"
		}
		found = append(found, fault)
	}
	return found
}
