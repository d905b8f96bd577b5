package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// staleAfter is how old a status may be before its dispatcher is taken to be away: three that did not come.
const staleAfter = 3 * reloader.ClusterStatusInterval

// Health sums up a cluster in one word.
type Health string

// The words of Health.
const (
	Healthy  Health = "Healthy"
	Degraded Health = "Degraded"
	Away     Health = "Away"
	Unknown  Health = "Unknown"
)

// Source is what came from one source of hints.
type Source struct {
	Source string    `json:"source" doc:"Where the hints came from: audit, shipped, watch or sweep." example:"audit"`
	Hints  int64     `json:"hints" doc:"How many came since the dispatcher started."`
	LastAt time.Time `json:"lastAt" doc:"When the newest of them reached Reroll."`
}

// Feed is what canaries have told about the audit events of one API server.
type Feed struct {
	Address string    `json:"address" doc:"Where the API server is."`
	State   string    `json:"state" doc:"What canaries have told: waiting, none has come back yet; heard, they come back; notSetUp, none ever came back from any API server, and none has to; silent, they are accepted and do not come back; refused, they are not accepted." example:"heard"`
	LastAt  time.Time `json:"lastAt,omitzero" doc:"When a canary last came back. Absent if none has."`
}

// Held is how many workloads wait for one reason.
type Held struct {
	Reason    Reason `json:"reason" doc:"Why they wait."`
	Workloads int    `json:"workloads" doc:"How many do."`
}

// Fault is a part of the dispatcher's process that is not well.
type Fault struct {
	Part   string `json:"part" doc:"The part's name." example:"nats"`
	Reason string `json:"reason" doc:"What is wrong with it, for people."`
}

// Cluster is one cluster: where its hints come from, how far it is, and what holds it back.
type Cluster struct {
	Name            string    `json:"name" doc:"The cluster's name."`
	Health          Health    `json:"health" enum:"Healthy,Degraded,Away,Unknown" doc:"The cluster in one word. Degraded: problems says why. Away: its dispatcher has published no status lately. Unknown: it never has."`
	Problems        []string  `json:"problems" nullable:"false" doc:"What is wrong, for people."`
	UID             string    `json:"uid,omitempty" doc:"The UID of its namespace kube-system. Absent if that may not be read."`
	Namespace       string    `json:"namespace,omitempty" doc:"Reroll's own namespace, which has the ConfigMap reroll-control. Absent if that is not known."`
	Version         string    `json:"version,omitempty" doc:"The version of its dispatcher."`
	Instance        string    `json:"instance,omitempty" doc:"The dispatcher's name among its replicas."`
	StartedAt       time.Time `json:"startedAt,omitzero" doc:"When the dispatcher started."`
	UpdatedAt       time.Time `json:"updatedAt,omitzero" doc:"When it last published its status, by its own clock. Absent if it never has."`
	Ready           bool      `json:"ready" doc:"Whether every dependency has a baseline, so that no edit can be missed."`
	DryRun          bool      `json:"dryRun" doc:"Whether nothing is written to the cluster."`
	Source          string    `json:"source,omitempty" doc:"How changes are reported: auto, by a watch of metadata and by audit events; audit, by these alone; watch, by the watch alone. Absent if the dispatcher's version does not say." example:"auto"`
	Attribution     string    `json:"attribution,omitempty" doc:"One sentence about what is known of who made a change. Absent if the dispatcher has published no status." example:"The user in its audit event made a change."`
	Storage         string    `json:"storage,omitempty" doc:"One sentence about what is lost when the dispatcher's pod moves. Absent if nothing is." example:"There is no volume."`
	Sources         []Source  `json:"sources" nullable:"false" doc:"Where hints came from since the dispatcher started."`
	Feeds           []Feed    `json:"feeds" nullable:"false" doc:"What canaries have told about each API server. Empty if none are sent."`
	Faults          []Fault   `json:"faults" nullable:"false" doc:"The parts of the dispatcher's process that are not well."`
	LastChangeAt    time.Time `json:"lastChangeAt,omitzero" doc:"When the newest change was verified. Absent if none is on record."`
	LastReloadAt    time.Time `json:"lastReloadAt,omitzero" doc:"When the newest reload was decided. Absent if none is on record."`
	SweptAt         time.Time `json:"sweptAt,omitzero" doc:"When every config was last looked at. Absent until the dispatcher's sweep at its start has ended, and if there are no others."`
	Drift           int64     `json:"drift" doc:"How many changes the sweep alone has found since the dispatcher started: what the sources missed."`
	Workloads       int       `json:"workloads" doc:"How many workloads are opted in."`
	Pending         int       `json:"pending" doc:"How many of them wait to be rolled."`
	Held            []Held    `json:"held" nullable:"false" doc:"How many of those wait for which reason."`
	OldestPendingAt time.Time `json:"oldestPendingAt,omitzero" doc:"When the oldest change was verified that is still on its way to a workload; what held back workloads wait for does not count, unless patches fail or a limit is on. Absent if there is none."`
	LagSeconds      float64   `json:"lagSeconds" doc:"How old that change was at updatedAt; 0 if there was none, or if the dispatcher is of a version that does not say."`
	HintsPending    int64     `json:"hintsPending" doc:"How many hints were stored and not done yet when they were last counted, at most some 15 s before updatedAt."`
	Freeze          Freeze    `json:"freeze" doc:"Whether every reload is held back."`
	Pauses          []Pause   `json:"pauses" nullable:"false" doc:"The pauses that have not ended."`
	Windows         []Window  `json:"windows" nullable:"false" doc:"The maintenance windows. If there are any, reloads wait for one."`
	Forward         *Forward  `json:"forward,omitempty" doc:"How far the cluster's records have come to the hub that answers. Absent if this is no hub."`
}

// FromCluster returns the view of c at a time.
func FromCluster(c *projection.ClusterState, now time.Time) Cluster {
	s := c.Status
	if s == nil {
		s = &reloader.ClusterStatus{}
	}
	v := Cluster{
		Name: c.Name, Health: health(c, now), Problems: problems(c, now),
		UID: s.UID, Namespace: s.Namespace, Version: s.Version, Instance: s.Instance, StartedAt: s.StartedAt, UpdatedAt: s.At, Ready: s.Ready, DryRun: s.DryRun,
		Source: s.Source, Attribution: attribution(c.Status), Storage: storage(s), Sources: each(s.Sources, fromSource), Feeds: each(s.Feeds, fromFeed), Faults: each(s.Faults, fromFault),
		SweptAt: s.SweptAt, Drift: s.Drift, Workloads: c.Workloads, Pending: s.Pending, Held: fromHeld(s.Held),
		OldestPendingAt: s.OldestPendingAt, LagSeconds: lag(s), HintsPending: s.HintsPending,
		Freeze: fromFreeze(c.Name, s.Freeze, now), Pauses: FromPauses(c, now), Windows: FromWindows(c),
		Forward: fromForwarding(s.Forward),
	}
	if c.LastChange != nil {
		v.LastChangeAt = c.LastChange.VerifiedAt
	}
	if c.LastReload != nil {
		v.LastReloadAt = c.LastReload.DecidedAt
	}
	return v
}

// lag returns how long the oldest change on its way had been, by the one clock that the whole status is by.
func lag(s *reloader.ClusterStatus) float64 {
	if s.OldestPendingAt.IsZero() {
		return 0
	}
	return max(0, s.At.Sub(s.OldestPendingAt).Round(time.Millisecond).Seconds())
}

func health(c *projection.ClusterState, now time.Time) Health {
	switch {
	case c.Status == nil:
		return Unknown
	case silence(c.Status, now) > staleAfter:
		return Away
	case len(problems(c, now)) > 0:
		return Degraded
	}
	return Healthy
}

// silence returns how long ago the status came, by the clock of where it did: that of its cluster may be any.
func silence(s *reloader.ClusterStatus, now time.Time) time.Duration {
	if s.StoredAt.IsZero() {
		return now.Sub(s.At)
	}
	return now.Sub(s.StoredAt)
}

// problems says what is wrong with a cluster, the worst first.
func problems(c *projection.ClusterState, now time.Time) []string {
	found := []string{}
	s := c.Status
	if s == nil {
		return append(found, "No dispatcher of this cluster has published its status.")
	}
	if age := silence(s, now); age > staleAfter {
		found = append(found, fmt.Sprintf("The dispatcher has published no status for %s.", age.Round(time.Second)))
	}
	if !s.Ready {
		found = append(found, "The dispatcher is still recording what workloads were brought to; edits are not handled yet.")
	}
	for _, f := range s.Feeds {
		switch f.State {
		case "silent":
			found = append(found, fmt.Sprintf("No audit events come from the API server at %s.", f.Address))
		case "refused":
			found = append(found, fmt.Sprintf("The API server at %s refuses canaries.", f.Address))
		}
	}
	for _, f := range s.Faults {
		found = append(found, f.Part+": "+f.Reason)
	}
	found = append(found, gapProblems(s.Forward, now)...)
	if s.ControlProblem != "" {
		found = append(found, s.ControlProblem)
	}
	return found
}

// storage says what is lost when the pod moves.
func storage(s *reloader.ClusterStatus) string {
	if !s.Ephemeral {
		return ""
	}
	return "There is no volume: when the pod moves, the history is lost, and nothing rolls because of that. To keep it: --set persistence.enabled=true"
}

// attribution says what is known of who made a change.
func attribution(s *reloader.ClusterStatus) string {
	if s == nil {
		return ""
	}
	some := func(states ...string) bool {
		return slices.ContainsFunc(s.Feeds, func(f reloader.FeedStatus) bool { return slices.Contains(states, f.State) })
	}
	told := slices.ContainsFunc(s.Sources, func(s reloader.SourceStatus) bool {
		return s.Source == reloader.SourceAudit || s.Source == reloader.SourceShipped
	})
	const manager = "The author of a change is the field manager of the config, with the time from managedFields"
	switch {
	case some("silent", "refused"):
		return manager + ", while no audit events come."
	case told || some("heard"):
		return "The author of a change is the user in its audit event."
	case some("waiting"):
		return ""
	case s.Source == "watch":
		return manager + ": audit events are not taken (source watch)."
	}
	return manager + ": the audit feed is not set up."
}

func fromSource(s reloader.SourceStatus) Source {
	return Source{Source: string(s.Source), Hints: s.Hints, LastAt: s.LastAt}
}

func fromFeed(f reloader.FeedStatus) Feed {
	return Feed{Address: f.Address, State: f.State, LastAt: f.LastAt}
}

func fromFault(f reloader.Fault) Fault { return Fault{Part: f.Part, Reason: f.Reason} }

func fromHeld(counts map[reloader.Reason]int) []Held {
	held := []Held{}
	for _, reason := range slices.SortedFunc(maps.Keys(counts), cmp.Compare) {
		held = append(held, Held{Reason: Reason(reason), Workloads: counts[reason]})
	}
	return held
}
