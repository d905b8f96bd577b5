package dialect

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// StakaterOptions are what an installation changes about the dialect of Stakater Reloader.
type StakaterOptions struct {
	// Renamed has the keys of the annotations that have another name, by the tool's own key.
	Renamed map[string]string
	// AutoReloadAll asks for all workloads that do not say anything about reloading automatically.
	AutoReloadAll bool
	// Without are kinds of config that reload nothing.
	Without []reloader.ConfigKind
}

func (o StakaterOptions) key(own string) string { return cmp.Or(o.Renamed[own], own) }

// Stakater returns the dialect of Stakater Reloader v1. Other than v1, exclude lists are read on the pod template too, an ignore
// annotation on a workload holds, secrets of volume drivers count as references, an alternation in
// a list item stands for whole names, and an item that does not compile affects nothing but itself.
func Stakater(o StakaterOptions) *Dialect {
	pausedAt := o.key("deployment.reloader.stakater.com/paused-at")
	return &Dialect{
		Tool:    Tool{Name: "stakater", Domain: "reloader.stakater.com", Variables: workload.MarkPrefix},
		Clauses: o.clauses(),
		Choices: []Choice{
			{o.key("deployment.reloader.stakater.com/pause-period"), choosePause(pausedAt), "the rollout is not held back"},
			{pausedAt, choosePausedAt(pausedAt), ""},
			{o.key("reloader.stakater.com/rollout-strategy"), chooseRolloutStrategy, ""},
		},
		Here:    Here{Without: o.Without},
		Mounted: true,
		Marking: Marking{MarkValue: stakaterHash, Writes: []string{mark.LastReloadedFromKey}},
	}
}

// choosePause reads the length of a pause, which begins at the time in the annotation pausedAt. Only Deployments can be paused.
func choosePause(pausedAt string) func(w *workload.Workload, value string, chosen *Chosen) error {
	return func(w *workload.Workload, value string, chosen *Chosen) error {
		period, err := duration(value, maxPausePeriod)
		if w.Kind == workload.Deployment.Kind && period > 0 {
			chosen.Pause = Pause{Period: period, Key: pausedAt}
		}
		return err
	}
}

func choosePausedAt(pausedAt string) func(w *workload.Workload, value string, chosen *Chosen) error {
	return func(w *workload.Workload, value string, chosen *Chosen) error {
		if w.Kind != workload.Deployment.Kind {
			return nil
		}
		chosen.Pause.Key, chosen.Pause.Begun = pausedAt, true
		if since, err := time.Parse(time.RFC3339, value); err == nil && reloader.Storable(since) && chosen.Pause.Period > 0 {
			chosen.Pause.Until = since.Add(chosen.Pause.Period)
		}
		return nil
	}
}

func chooseRolloutStrategy(w *workload.Workload, value string, chosen *Chosen) error {
	switch {
	case w.Kind != workload.Rollout.Kind:
		return fmt.Errorf("has no effect on a %s, only on a %s", w.Kind, workload.Rollout.Kind)
	case value == Restart:
		chosen.Strategy = cmp.Or(chosen.Strategy, value)
	}
	return nil
}

// clauses returns the table with the keys as they are renamed.
func (o StakaterOptions) clauses() []Clause {
	all := []Clause{
		{"reloader.stakater.com/ignore", OnConfig, nil, Ignore, True},
		{"reloader.stakater.com/ignore", OnEither, nil, Ignore, True},
		{"configmaps.exclude.reloader.stakater.com/reload", OnEither, configMaps, Forbid, Literals},
		{"secrets.exclude.reloader.stakater.com/reload", OnEither, secrets, Forbid, Literals},
		{"secretproviderclasses.exclude.reloader.stakater.com/reload", OnEither, providerClasses, Forbid, Literals},
		{"configmap.reloader.stakater.com/reload", OnWorkloadElseTemplate, configMaps, Ask, Regexps},
		{"secret.reloader.stakater.com/reload", OnWorkloadElseTemplate, secrets, Ask, Regexps},
		{"secretproviderclass.reloader.stakater.com/reload", OnWorkloadElseTemplate, providerClasses, Ask, Regexps},
		{"reloader.stakater.com/search", OnWorkloadElseTemplate, nil, Search, True},
		{"reloader.stakater.com/match", OnConfig, nil, Search, True},
		{"reloader.stakater.com/auto", OnWorkloadElseTemplate, nil, AskReferenced, Bool},
		{"configmap.reloader.stakater.com/auto", OnWorkloadElseTemplate, configMaps, AskReferenced, Bool},
		{"secret.reloader.stakater.com/auto", OnWorkloadElseTemplate, secrets, AskReferenced, Bool},
		{"secretproviderclass.reloader.stakater.com/auto", OnWorkloadElseTemplate, providerClasses, AskReferenced, Bool},
	}
	for i := range all {
		all[i].Key = o.key(all[i].Key)
	}
	if o.AutoReloadAll {
		all = append(all, Clause{"--auto-reload-all", OnInstallation, nil, AskReferenced, Bool})
	}
	return all
}

// stakaterHash returns the SHA-1 that the tool writes: of all key=value entries, binary values in base64, sorted and joined by
// semicolons; the name of a SecretProviderClass is one more. Different contents can share one, as {a: "1;b=3"} and {a: "1", b: "3"} do.
func stakaterHash(c digest.Content) string {
	var entries []string
	if of := c.Config(); of.Kind == reloader.SecretProviderClass {
		entries = append(entries, "SecretProviderClassName="+of.Name)
	}
	c.Each(func(s digest.Section, key string, value []byte) {
		text := string(value)
		if s == digest.BinaryData {
			text = base64.StdEncoding.EncodeToString(value)
		}
		entries = append(entries, key+"="+text)
	})
	slices.Sort(entries)
	sum := sha1.Sum([]byte(strings.Join(entries, ";")))
	return hex.EncodeToString(sum[:])
}
