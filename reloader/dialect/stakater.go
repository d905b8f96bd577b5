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
	"github.com/reroll-dev/reroll/reloader/strategy"
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
// annotation on a workload holds, secrets by which drivers mount volumes count as references, an alternation in
// a list item stands for whole names, and an item that does not compile affects nothing but itself.
func Stakater(o StakaterOptions) *Dialect {
	pausedAt := o.key("deployment.reloader.stakater.com/paused-at")
	return &Dialect{
		Name:    "stakater",
		Clauses: o.clauses(),
		Choices: []Choice{
			{o.key("deployment.reloader.stakater.com/pause-period"), choosePause(pausedAt), "the rollout is not held back"},
			{pausedAt, choosePausedAt(pausedAt), ""},
			{o.key("reloader.stakater.com/rollout-strategy"), chooseRolloutStrategy, ""},
		},
		Without: o.Without,
		Mounted: true,
		Marking: Marking{MarkValue: stakaterHash, Writes: []string{strategy.LastReloadedFromKey}},
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
		return fmt.Errorf("says nothing on a %s, only on a %s", w.Kind, workload.Rollout.Kind)
	case value == strategy.Restart.Name:
		chosen.Strategy = cmp.Or(chosen.Strategy, value)
	}
	return nil
}

// clauses are the tool's annotations in the order in which they decide.
func (o StakaterOptions) clauses() []Clause {
	key := func(word string) string { return o.key("reloader.stakater.com/" + word) }
	all := []Clause{{key("ignore"), OnConfig, nil, Ignore, True}, {key("ignore"), OnEither, nil, Ignore, True}}
	words := []string{"configmap", "secret", "secretproviderclass"}
	each := func(on Place, do Effect, as Grammar, words []string, word string) {
		for i, kind := range words {
			all = append(all, Clause{o.key(kind + ".reloader.stakater.com/" + word), on, reloader.ConfigKinds[i : i+1], do, as})
		}
	}
	each(OnEither, Forbid, Literals, []string{"configmaps.exclude", "secrets.exclude", "secretproviderclasses.exclude"}, "reload")
	each(OnWorkloadElseTemplate, Ask, Regexps, words, "reload")
	all = append(all,
		Clause{key("search"), OnWorkloadElseTemplate, nil, Search, True},
		Clause{key("match"), OnConfig, nil, Search, True},
		Clause{key("auto"), OnWorkloadElseTemplate, nil, AskReferenced, Bool})
	each(OnWorkloadElseTemplate, AskReferenced, Bool, words, "auto")
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
