package scenario

import (
	"slices"
	"strings"
)

// Case is a scenario with the process that it needs.
type Case struct {
	Scenario
	// Flags and Env are those of reroll. In them, {name} is the real name of one of Namespaces.
	Flags []string `json:"flags,omitempty"`
	Env   []string `json:"env,omitempty"`
	// Namespaces have the labels of namespaces that exist before reroll starts.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	// Pods says that the case is about workloads whose pods run.
	Pods bool `json:"pods,omitempty"`
}

// Group names the reroll process that c needs: cases of the same name share one.
func (c Case) Group() string { return strings.Join(append(slices.Clone(c.Flags), c.Env...), " ") }

// Alone reports whether c stops reroll, so that no other case can run next to it.
func (c Case) Alone() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Down || s.Kill })
}
