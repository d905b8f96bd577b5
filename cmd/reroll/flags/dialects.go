// Package flags declares the flags that say whose annotations count, and how. The roles of Reroll and reroll migrate have them under the same
// names, so that the one foretells what the others do.
package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Dialects are the flags together.
type Dialects struct {
	Keys Keys
	// Ignored are kinds of config whose changes do nothing.
	Ignored []reloader.ConfigKind
	// AutoReloadAll treats a workload that says nothing as if it had asked for all its references, and CSI counts SecretProviderClasses.
	AutoReloadAll, CSI bool
}

// Set returns every dialect as the flags have it.
func (d Dialects) Set() dialect.Set {
	return dialect.All(d.Stakater()).Without(d.Ignored)
}

// Stakater returns what the flags change about the dialect of Stakater Reloader.
func (d Dialects) Stakater() dialect.StakaterOptions {
	renamed := map[string]string{}
	for _, k := range d.Keys.All() {
		renamed[k.Own] = *k.Key
	}
	without := slices.Clone(d.Ignored)
	if !d.CSI {
		without = append(without, reloader.SecretProviderClass)
	}
	return dialect.StakaterOptions{Renamed: renamed, AutoReloadAll: d.AutoReloadAll, Without: without}
}

// IgnoredKinds is the flag of the kinds of config that do nothing.
const (
	IgnoredKinds      = "resources-to-ignore"
	IgnoredKindsUsage = "kind of config whose changes do nothing: configmaps or secrets"
)

// ignorable are its words, and the kinds that they stand for.
var ignorable = map[string]reloader.ConfigKind{"configmaps": reloader.ConfigMap, "secrets": reloader.Secret}

// Kinds returns the kinds that words of IgnoredKinds stand for.
func Kinds(words []string) ([]reloader.ConfigKind, error) {
	var kinds []reloader.ConfigKind
	for _, w := range words {
		kind, ok := ignorable[strings.ToLower(w)]
		if !ok {
			return nil, fmt.Errorf("--%s: %.80q is not configmaps or secrets", IgnoredKinds, w)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		return nil, fmt.Errorf("--%s: configmaps and secrets together leave nothing to react to", IgnoredKinds)
	}
	return kinds, nil
}

// List returns the values of a list without the spaces around them.
func List(f *pflag.FlagSet, flag string) []string {
	var items []string
	given, _ := f.GetStringSlice(flag)
	for _, item := range given {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
