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
	Auto, ConfigMapAuto, SecretAuto string
	ConfigMapReload, SecretReload   string
	ConfigMapExclude, SecretExclude string
	Search, Match, Ignore           string
	// AutoReloadAll asks for all workloads that do not say anything about reloading automatically.
	AutoReloadAll bool
}

// Stakater returns the dialect of Stakater Reloader v1. Exclude lists are read on the workload alone, references outside any
// container do not count, and an ignore annotation on a workload says nothing, all as in v1. Other than v1, an alternation in a
// list item stands for whole names, and an item that does not compile affects nothing but itself.
func Stakater(o StakaterOptions) *Dialect {
	configMaps, secrets := []reloader.ConfigKind{reloader.ConfigMap}, []reloader.ConfigKind{reloader.Secret}
	d := &Dialect{
		Name:         "stakater",
		FieldManager: "Reloader",
		Clauses: []Clause{
			{cmp.Or(o.Ignore, "reloader.stakater.com/ignore"), OnConfig, nil, Ignore},
			{cmp.Or(o.ConfigMapExclude, "configmaps.exclude.reloader.stakater.com/reload"), OnWorkload, configMaps, Exclude},
			{cmp.Or(o.SecretExclude, "secrets.exclude.reloader.stakater.com/reload"), OnWorkload, secrets, Exclude},
			{cmp.Or(o.ConfigMapReload, "configmap.reloader.stakater.com/reload"), OnWorkloadOrTemplate, configMaps, Named},
			{cmp.Or(o.SecretReload, "secret.reloader.stakater.com/reload"), OnWorkloadOrTemplate, secrets, Named},
			{cmp.Or(o.Search, "reloader.stakater.com/search"), OnWorkloadOrTemplate, nil, Search},
			{cmp.Or(o.Match, "reloader.stakater.com/match"), OnConfig, nil, Match},
			{cmp.Or(o.Auto, "reloader.stakater.com/auto"), OnWorkloadOrTemplate, nil, Auto},
			{cmp.Or(o.ConfigMapAuto, "configmap.reloader.stakater.com/auto"), OnWorkloadOrTemplate, configMaps, TypedAuto},
			{cmp.Or(o.SecretAuto, "secret.reloader.stakater.com/auto"), OnWorkloadOrTemplate, secrets, TypedAuto},
		},
		Sees:      func(r *workload.Reference) bool { return r.Container != workload.NoContainer },
		MarkValue: stakaterHash,
		Writes:    []string{strategy.LastReloadedFromKey},
	}
	if o.AutoReloadAll {
		d.Clauses = append(d.Clauses, Clause{"--auto-reload-all", Installation, nil, AutoUnlessSaid})
	}
	return d
}

// stakaterHash returns the SHA-1 that the tool writes: of all key=value entries, binary values in base64, sorted and joined by
// semicolons. Different contents can share one, as {a: "1;b=3"} and {a: "1", b: "3"} do.
func stakaterHash(c digest.Content, _ reloader.ConfigKind) string {
	var entries []string
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
