package view

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// Describe has the schemas of registry list the values of the domain's closed lists: reasons, kinds of config, sources and states.
func Describe(registry huma.Registry) {
	registry.RegisterTypeAlias(reflect.TypeFor[reloader.Reason](), reflect.TypeFor[reason]())
	registry.RegisterTypeAlias(reflect.TypeFor[reloader.ConfigKind](), reflect.TypeFor[configKind]())
	registry.RegisterTypeAlias(reflect.TypeFor[reloader.Source](), reflect.TypeFor[source]())
	registry.RegisterTypeAlias(reflect.TypeFor[verdict.State](), reflect.TypeFor[State]())
}

// Settle has the lists of answers in registry say that they are never null: one that is empty is [], or absent. In a request, null is as good as absent.
func Settle(registry huma.Registry) {
	for name, s := range registry.Map() {
		if name == "SupposedChange" {
			continue
		}
		for _, property := range s.Properties {
			property.Nullable = property.Nullable && property.Type != huma.TypeArray
		}
	}
}

// reason stands for reloader.Reason in schemas.
type reason string

// Schema describes the closed list of reasons.
func (reason) Schema(registry huma.Registry) *huma.Schema {
	return listed(registry, "Reason", "One of the closed list of reasons above.", reasons())
}

// configKind stands for reloader.ConfigKind in schemas.
type configKind string

// Schema describes the closed list of kinds of config.
func (configKind) Schema(huma.Registry) *huma.Schema {
	return listed(nil, "", "", reloader.ConfigKinds)
}

// source stands for reloader.Source in schemas.
type source string

// Schema describes the closed list of sources.
func (source) Schema(huma.Registry) *huma.Schema {
	var all []reloader.Source
	for _, i := range reloader.Sources {
		all = append(all, i.Source)
	}
	return listed(nil, "", "", all)
}

// State is a verdict.State as a parameter.
type State string

// Schema describes the closed list of states.
func (State) Schema(registry huma.Registry) *huma.Schema {
	return listed(registry, "State", "How a workload stands, in one word.", verdict.States)
}

// Outcome is a reloader.Reason that a reload can have as its outcome, as a parameter.
type Outcome string

// Schema describes the closed list of outcomes.
func (Outcome) Schema(huma.Registry) *huma.Schema { return listed(nil, "", "", reloader.Outcomes) }

// listed returns a schema of a closed list. With a registry the list stands there, once, and the result refers to it.
func listed[S ~string](registry huma.Registry, name, doc string, values []S) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: doc}
	for _, value := range values {
		s.Enum = append(s.Enum, string(value))
	}
	s.PrecomputeMessages()
	if registry == nil {
		return s
	}
	registry.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// ReasonList says what each reason means, as a list in Markdown.
func ReasonList() string {
	var list strings.Builder
	for _, reason := range reasons() {
		fmt.Fprintf(&list, "* `%s`: the workload %s.\n", reason, reason.Says())
	}
	return list.String()
}

func reasons() (all []reloader.Reason) {
	for _, i := range reloader.Reasons {
		all = append(all, i.Reason)
	}
	slices.Sort(all)
	return all
}
