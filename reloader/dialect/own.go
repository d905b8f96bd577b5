package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
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

	// RetryKey asks for another try of a workload.
	RetryKey = OwnPrefix + "retry"
)

// ownKeysOnWorkloads are all annotations under OwnPrefix that mean something on a workload, those that Reroll writes among them.
var ownKeysOnWorkloads = []string{
	ownAuto, ownConfigMaps, ownSecrets, ownConfigMapSelector, ownSecretSelector, ownExclude, ownIgnore, ownKeys, ownStrategy, ownWindow, ownMinInterval, ownMaintenance, FollowKey,
	RetryKey, OwnPrefix + "last-reload", OwnPrefix + "brought", strategy.ConfigDigestKey, strategy.RequestedKey,
}

// Own returns the dialect of Reroll itself. What it forbids holds for all others as well, and so do its choices. Its marks have the places of Stakater Reloader's, and are keyed. It alone can say that a workload follows configs of other clusters.
func Own() *Dialect {
	return &Dialect{
		Name:         "reroll",
		FieldManager: workload.MarkManager,
		Clauses: []Clause{
			{ownIgnore, OnConfig, nil, Ignore},
			{ownIgnore, OnWorkload, nil, IgnoreWorkload},
			{ownExclude, OnWorkload, nil, ExcludeGlobs},
			{ownConfigMaps, OnWorkload, []reloader.ConfigKind{reloader.ConfigMap}, Globs},
			{ownSecrets, OnWorkload, []reloader.ConfigKind{reloader.Secret}, Globs},
			{ownAuto, OnWorkload, nil, Auto},
			{ownConfigMapSelector, OnWorkload, []reloader.ConfigKind{reloader.ConfigMap}, Selected},
			{ownSecretSelector, OnWorkload, []reloader.ConfigKind{reloader.Secret}, Selected},
			{FollowKey, OnWorkload, plainConfigs, Follow},
		},
		Sees:      stakaterSees,
		MarkValue: stakaterHash,
		Keyed:     true,
		Overrules: true,
		Faults:    ownFaults,
		Choices: Choices{
			Strategy: ownStrategies(), Window: ownWindow, MinInterval: ownMinInterval, Maintenance: ownMaintenance, Keys: ownKeys,
		},
	}
}

// ownStrategies lets every kind of workload choose among all strategies that work for it.
func ownStrategies() map[string]StrategyChoice {
	choices := map[string]StrategyChoice{}
	for _, kind := range workload.Kinds {
		names := map[string]string{}
		for _, s := range strategy.All {
			names[s.Name] = s.Name
		}
		if kind.Kind == workload.Rollout.Kind {
			names[strategy.Restart.Name] = strategy.Restart.Name
		}
		choices[kind.Kind] = StrategyChoice{Key: ownStrategy, Names: names, Strict: true}
	}
	return choices
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
