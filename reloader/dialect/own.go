package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The annotations of Reroll itself, but for those that it writes.
const (
	ownAuto       = OwnPrefix + "auto"
	ownConfigMaps = OwnPrefix + "configmaps"
	ownSecrets    = OwnPrefix + "secrets"
	ownExclude    = OwnPrefix + "exclude"

	ownConfigMapSelector = OwnPrefix + "configmap-selector"
	ownSecretSelector    = OwnPrefix + "secret-selector"

	ownIgnore      = OwnPrefix + "ignore"
	ownKeys        = OwnPrefix + "keys"
	ownStrategy    = OwnPrefix + "strategy"
	ownWindow      = OwnPrefix + "window"
	ownMinInterval = OwnPrefix + "min-interval"
	ownMaintenance = OwnPrefix + "maintenance-window"

	// FollowKey lists configs of other clusters that a workload follows, as cluster/namespace/kind/name, separated by commas.
	FollowKey = OwnPrefix + "follow"
	// RetryKey asks for another try of a workload.
	RetryKey = OwnPrefix + "retry"
)

// ownKeysOnWorkloads are all annotations under OwnPrefix that mean something on a workload, those that Reroll writes among them.
var ownKeysOnWorkloads = []string{
	ownAuto, ownConfigMaps, ownSecrets, ownConfigMapSelector, ownSecretSelector, ownExclude, ownIgnore, ownKeys, ownStrategy, ownWindow, ownMinInterval, ownMaintenance, FollowKey,
	RetryKey, OwnPrefix + "last-reload", OwnPrefix + "brought", strategy.ConfigDigestKey, strategy.RequestedKey,
}

// Own returns the dialect of Reroll itself. What it forbids holds for all others as well, and so do its choices. Its marks have the places of
// Stakater Reloader's, and are keyed. It alone can say that a workload follows configs of other clusters.
func Own() *Dialect {
	return &Dialect{
		Name: "reroll",
		Clauses: []Clause{
			{ownIgnore, OnConfig, nil, Ignore, True},
			{ownIgnore, OnWorkload, nil, Ignore, True},
			{ownExclude, OnWorkload, nil, Forbid, Globs},
			{ownConfigMaps, OnWorkload, configMaps, Ask, Globs},
			{ownSecrets, OnWorkload, secrets, Ask, Globs},
			{ownAuto, OnWorkload, nil, AskReferenced, Bool},
			{ownConfigMapSelector, OnWorkload, configMaps, Ask, Selector},
			{ownSecretSelector, OnWorkload, secrets, Ask, Selector},
			{FollowKey, OnWorkload, plainConfigs, Ask, Followed},
		},
		Choices: []Choice{
			{ownStrategy, chooseStrategy, "the installation's strategy holds"},
			{ownWindow, chooseWindow, "the installation's holds"},
			{ownMinInterval, chooseMinInterval, "the longest possible holds"},
			{ownMaintenance, chooseMaintenance, "it is not rolled until this can be read"},
			{ownKeys, chooseKeys, "every key counts"},
		},
		Mounted:   true,
		Overrules: true,
		Faults:    ownFaults,
		Marking:   Marking{MarkValue: stakaterHash, Keyed: true},
	}
}

// chooseStrategy lets every kind of workload choose among all strategies that work for it.
func chooseStrategy(w *workload.Workload, value string, chosen *Chosen) error {
	var names []string
	for _, s := range strategy.All {
		names = append(names, s.Name)
	}
	if w.Kind == workload.Rollout.Kind {
		names = append(names, strategy.Restart.Name)
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

// ownFaults returns what is wrong with the annotations that no clause and no choice is about.
func ownFaults(w *workload.Workload) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(w.Annotations)) {
		if strings.HasPrefix(key, OwnPrefix) && !slices.Contains(ownKeysOnWorkloads, key) {
			fault := fmt.Sprintf("%.80q: there is no such annotation of workloads", key)
			if meant, ok := near.Word(key, ownKeysOnWorkloads); ok {
				fault += "; did you mean " + meant + "?"
			}
			found = append(found, fault)
		}
	}
	return found
}
