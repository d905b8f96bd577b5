package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/reloader"
)

// Reason is a reloader.Reason whose schema lists every reason.
type Reason string

// Schema describes the closed list of reasons. With a registry the list stands there, once, and the result refers to it.
func (Reason) Schema(registry huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "One of the closed list of reasons above."}
	for _, reason := range reasons() {
		s.Enum = append(s.Enum, string(reason))
	}
	if registry == nil {
		return s
	}
	const name = "Reason"
	s.PrecomputeMessages()
	registry.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// Outcome is a reloader.Reason that a reload can have as its outcome, and its schema lists them.
type Outcome string

// Schema describes the closed list of outcomes.
func (Outcome) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, outcome := range reloader.Outcomes {
		s.Enum = append(s.Enum, string(outcome))
	}
	s.PrecomputeMessages()
	return s
}

// ReasonList says what each reason means, as a list in Markdown.
func ReasonList() string {
	var list strings.Builder
	for _, reason := range reasons() {
		fmt.Fprintf(&list, "* `%s`: the workload %s.\n", reason, reloader.Reasons[reason])
	}
	return list.String()
}

func reasons() []reloader.Reason { return slices.Sorted(maps.Keys(reloader.Reasons)) }
