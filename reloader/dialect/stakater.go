package dialect

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// StakaterOptions renames the annotations of Stakater Reloader. An empty key stands for the tool's own.
type StakaterOptions struct {
	Auto, Search, Match, Ignore string
	// ConfigMap, Secret and SecretProviderClass are the annotations about one kind of config.
	ConfigMap, Secret, SecretProviderClass StakaterKeys
	RolloutStrategy, PausePeriod, PausedAt string
	// AutoReloadAll asks for all workloads that do not say anything about reloading automatically.
	AutoReloadAll bool
	// Without are kinds of config that reload nothing.
	Without []reloader.ConfigKind
}

// StakaterKeys are the annotations about one kind of config.
type StakaterKeys struct{ Reload, Auto, Exclude string }

// or returns k with the tool's own keys in the place of empty ones.
func (k StakaterKeys) or(kind string) StakaterKeys {
	return StakaterKeys{
		Reload:  cmp.Or(k.Reload, kind+".reloader.stakater.com/reload"),
		Auto:    cmp.Or(k.Auto, kind+".reloader.stakater.com/auto"),
		Exclude: cmp.Or(k.Exclude, plural(kind)+".exclude.reloader.stakater.com/reload"),
	}
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// Stakater returns the dialect of Stakater Reloader v1. Other than v1, exclude lists are read on the pod template too, an ignore
// annotation on a workload holds, secrets by which drivers mount volumes count as references, an alternation in
// a list item stands for whole names, and an item that does not compile affects nothing but itself.
func Stakater(o StakaterOptions) *Dialect {
	d := &Dialect{
		Name:         "stakater",
		FieldManager: workload.MarkManager,
		Clauses:      o.clauses(),
		Sees:         stakaterSees,
		MarkValue:    stakaterHash,
		Writes:       []string{strategy.LastReloadedFromKey},
		Choices: Choices{
			PausePeriod: cmp.Or(o.PausePeriod, "deployment.reloader.stakater.com/pause-period"),
			PausedAt:    cmp.Or(o.PausedAt, "deployment.reloader.stakater.com/paused-at"),
			Strategy: map[string]StrategyChoice{"Rollout": {
				Key: cmp.Or(o.RolloutStrategy, "reloader.stakater.com/rollout-strategy"), Names: map[string]string{"restart": "restart"},
			}},
		},
	}
	return d
}

// clauses are the tool's annotations in the order in which they decide.
func (o StakaterOptions) clauses() []Clause {
	var kinds []reloader.ConfigKind
	keys := map[reloader.ConfigKind]StakaterKeys{
		reloader.ConfigMap:           o.ConfigMap.or("configmap"),
		reloader.Secret:              o.Secret.or("secret"),
		reloader.SecretProviderClass: o.SecretProviderClass.or("secretproviderclass"),
	}
	for _, kind := range reloader.ConfigKinds {
		if !slices.Contains(o.Without, kind) {
			kinds = append(kinds, kind)
		}
	}
	ignore := cmp.Or(o.Ignore, "reloader.stakater.com/ignore")
	all := []Clause{{ignore, OnConfig, kinds, Ignore}, {ignore, OnEither, kinds, IgnoreWorkload}}
	each := func(where Where, meaning Meaning, key func(StakaterKeys) string) {
		for _, kind := range kinds {
			all = append(all, Clause{key(keys[kind]), where, []reloader.ConfigKind{kind}, meaning})
		}
	}
	each(OnEither, Exclude, func(k StakaterKeys) string { return k.Exclude })
	each(OnWorkloadOrTemplate, Named, func(k StakaterKeys) string { return k.Reload })
	all = append(all,
		Clause{cmp.Or(o.Search, "reloader.stakater.com/search"), OnWorkloadOrTemplate, kinds, Search},
		Clause{cmp.Or(o.Match, "reloader.stakater.com/match"), OnConfig, kinds, Match},
		Clause{cmp.Or(o.Auto, "reloader.stakater.com/auto"), OnWorkloadOrTemplate, kinds, Auto})
	each(OnWorkloadOrTemplate, TypedAuto, func(k StakaterKeys) string { return k.Auto })
	if o.AutoReloadAll {
		all = append(all, Clause{"--auto-reload-all", Installation, kinds, AutoUnlessSaid})
	}
	return all
}

// stakaterSees reports whether r counts as a reference. A volume that nothing mounts does not.
func stakaterSees(r *workload.Reference) bool {
	return slices.ContainsFunc(r.Uses, func(u reloader.Use) bool {
		return u.Container != "" || !slices.Contains(workload.UsesByMount, u.How)
	})
}

// stakaterHash returns the SHA-1 that the tool writes: of all key=value entries, binary values in base64, sorted and joined by
// semicolons; the name of a SecretProviderClass is one more. Different contents can share one, as {a: "1;b=3"} and {a: "1", b: "3"} do.
func stakaterHash(c digest.Content, _ reloader.ConfigKind) string {
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
