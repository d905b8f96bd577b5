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

// Schema describes the closed list of reasons.
func (Reason) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, reason := range reasons() {
		s.Enum = append(s.Enum, string(reason))
	}
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
