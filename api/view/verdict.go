package view

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// State is a verdict.State whose schema lists every state.
type State string

// Schema describes the closed list of states. With a registry the list stands there, once, and the result refers to it.
func (State) Schema(registry huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "How a workload stands, in one word."}
	for _, state := range verdict.States {
		s.Enum = append(s.Enum, string(state))
	}
	if registry == nil {
		return s
	}
	const name = "State"
	s.PrecomputeMessages()
	registry.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// Verdict says how a workload stands, and what to do next.
type Verdict struct {
	State   State  `json:"state" doc:"The state in one word."`
	Reason  Reason `json:"reason,omitempty" doc:"The reason, if one of the closed list says more."`
	Message string `json:"message" doc:"The same for people, in one sentence or few."`
	Next    string `json:"next,omitempty" doc:"The next command, or what to do. Absent if there is nothing to do."`
}

// FromVerdict returns the view of v.
func FromVerdict(v verdict.Verdict) Verdict {
	return Verdict{State: State(v.State), Reason: Reason(v.Reason), Message: v.Message, Next: v.Next}
}

// Judge judges w, which is in cluster c, at a time. c is nil if nothing is known of it.
func Judge(w *reloader.WorkloadRecord, c *projection.ClusterState, now time.Time) verdict.Verdict {
	return verdict.Judge(caseOf(w.Cluster, w.Workload, w, c, now))
}

func caseOf(cluster string, ref reloader.WorkloadRef, w *reloader.WorkloadRecord, c *projection.ClusterState, now time.Time) verdict.Case {
	found := verdict.Case{Cluster: cluster, Workload: ref, Record: w, Now: now}
	if c == nil || c.Status == nil {
		return found
	}
	found.Status = c.Status
	if s := silence(c.Status, now); s > staleAfter {
		found.Silence = s
	}
	return found
}

// Missing is a config that is not there, or some of whose keys are not.
type Missing struct {
	Config   Config   `json:"config" doc:"The config."`
	Keys     []string `json:"keys" nullable:"false" doc:"The keys that it lacks. Empty if the config itself does not exist."`
	Meant    string   `json:"meant,omitempty" doc:"What was probably meant. Absent if no name is near."`
	Required bool     `json:"required" doc:"Whether no pod of the workload starts without it."`
}

func fromMissing(m reloader.Missing) Missing {
	return Missing{Config: fromConfig(m.Config), Keys: append([]string{}, m.Keys...), Meant: m.Meant, Required: m.Required}
}

// Unreadable is a config that cannot be read.
type Unreadable struct {
	Config  *Config `json:"config,omitempty" doc:"The config. Absent if it is not one config alone."`
	Message string  `json:"message" doc:"Why, for people."`
}

func fromUnreadable(u reloader.Unreadable) Unreadable {
	v := Unreadable{Message: u.Message}
	if u.Config != (reloader.Config{}) {
		config := fromConfig(u.Config)
		v.Config = &config
	}
	return v
}
