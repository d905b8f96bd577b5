package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// staleAfter is how old a status may be before its cluster is taken to be unreachable: three that did not come.
const staleAfter = 3 * reloader.ClusterStatusInterval

// gapTime is how long missing records are a problem of their cluster; after that they are history.
const gapTime = 24 * time.Hour

// Health sums up a cluster in one word.
type Health string

// The words of Health.
const (
	Healthy  Health = "Healthy"
	Degraded Health = "Degraded"
	// Away: the dispatcher has published no status lately. Unknown: it never has.
	Away    Health = "Away"
	Unknown Health = "Unknown"
)

// IsUp reports whether the dispatcher of a cluster has published its status lately.
func (h Health) IsUp() bool { return h == Healthy || h == Degraded }

// Problem is one thing that is wrong with a cluster, or that holds back its workloads.
type Problem struct {
	Message string `json:"message" doc:"What is wrong, in one sentence or few."`
	Next    string `json:"next,omitempty" doc:"The next command, complete as it is. Absent if there is none."`
	// Reason is that of the workloads that are held back.
	Reason reloader.Reason `json:"reason,omitempty" doc:"The reason of the workloads that it holds back. Absent if it holds back none."`
}

// Standing is how a cluster stands.
type Standing struct {
	Health      Health    `json:"health" enum:"Healthy,Degraded,Away,Unknown" doc:"The cluster in one word. Degraded: problems says why. Away: its dispatcher has published no status lately. Unknown: it never has."`
	Problems    []Problem `json:"problems,omitempty" doc:"What is wrong, the worst first. Absent if nothing is."`
	HoldsBack   []Problem `json:"holdsBack,omitempty" doc:"What holds back all workloads of the cluster or some of them. Absent if nothing does."`
	Attribution string    `json:"attribution,omitempty" doc:"One sentence about what is known of the author of a change. Absent if that is not known yet." example:"The author of a change is the user in the event that reported it."`
}

// OfCluster returns how a cluster stands whose dispatcher has published s; nil if it never has.
func OfCluster(s *reloader.ClusterStatus, positions []reloader.Position, now time.Time) Standing {
	v := Standing{Health: Heard(s, now), Problems: problems(s, positions, now)}
	if s != nil {
		v.HoldsBack, v.Attribution = holdsBack(s, now), attribution(s)
	}
	if v.Health == Healthy && len(v.Problems) > 0 {
		v.Health = Degraded
	}
	return v
}

// Heard is the health of a cluster as far as its silence tells: Unknown, Away or Healthy.
func Heard(s *reloader.ClusterStatus, now time.Time) Health {
	switch {
	case s == nil:
		return Unknown
	case silence(s, now) > 0:
		return Away
	}
	return Healthy
}

// Doubt says why the records of a cluster may not be those of now; empty if its dispatcher has published its status lately, has seen every workload,
// and has brought what it knows of them.
func Doubt(s *reloader.ClusterStatus, positions []reloader.Position, now time.Time) string {
	if Heard(s, now) != Healthy || !s.Ready {
		return problems(s, positions, now)[0].Message + " What is on record may be out of date."
	}
	const usual = 100 // how many records are on their way from a cluster to its hub at any moment
	for _, p := range positions {
		if p.Of == "STATE" && p.Behind > usual {
			return fmt.Sprintf("%d records of workloads have not arrived yet. What you see may be out of date.", p.Behind)
		}
	}
	return ""
}

// silence returns for how long the dispatcher has published nothing, by the clock of where its status came to: that of its cluster may be any. It
// is 0 unless that is too long.
func silence(s *reloader.ClusterStatus, now time.Time) time.Duration {
	at := s.StoredAt
	if at.IsZero() {
		at = s.At
	}
	if age := now.Sub(at); age > staleAfter {
		return age
	}
	return 0
}

func problems(s *reloader.ClusterStatus, positions []reloader.Position, now time.Time) (found []Problem) {
	if s == nil {
		return []Problem{{Message: "No dispatcher of this cluster has published its status."}}
	}
	add := func(next, message string, args ...any) {
		found = append(found, Problem{Message: fmt.Sprintf(message, args...), Next: next})
	}
	pods := "kubectl -n " + ownNamespace(s) + " get pods"
	if age := silence(s, now); age > 0 {
		add(pods, "The dispatcher has published no status for %s.", age.Round(time.Second))
	}
	if !s.Ready {
		add(pods, "The dispatcher is still recording which content workloads run with; edits are not handled yet.")
	}
	for _, f := range s.Feeds {
		of := ""
		if len(f.Quiet) == 1 {
			of = fmt.Sprintf(" of %ss", f.Quiet[0])
		}
		switch f.State {
		case "silent":
			add("reroll audit check", "No audit events%s come from the API server at %s.", of, f.Address)
		case "refused":
			add("reroll check", "The API server at %s refuses canaries: Reroll may not patch the ConfigMap and the Secret reroll-canary.", f.Address)
		}
	}
	for _, f := range s.Faults {
		add(pods, "The dispatcher is not well: %s", end(f))
	}
	for _, p := range positions {
		for _, g := range p.Gaps {
			switch next := "reroll get clusters " + s.Cluster + " -o yaml"; {
			case now.Sub(g.At) > gapTime:
			case !g.Lost:
				add(next, "Up to %d records of the %s are missing here: the cluster dropped them before they were forwarded.", g.Records, strings.ToLower(p.Of))
			default:
				add(next, "Records of the %s may be missing here: the cluster lost its own copy.", strings.ToLower(p.Of))
			}
		}
	}
	if s.ControlProblem != "" {
		p := freezeOf(reloader.Pause{}, s)
		add(p.Next, "%s", p.Message)
	}
	return found
}

// holdsBack says what holds back workloads. A control document that cannot be read is among the problems.
func holdsBack(s *reloader.ClusterStatus, now time.Time) (found []Problem) {
	if s.DryRun {
		found = append(found, Problem{"This is a dry run: Reroll writes nothing to the cluster.", "", reloader.ReasonDryRun})
	}
	if s.Freeze.On(now) && s.ControlProblem == "" {
		found = append(found, freezeOf(*s.Freeze, s))
	}
	for _, p := range s.Pauses {
		if p.On(now) {
			message := "Reloads" + with(" in namespace ", p.Namespace, "") + with(" of workloads with ", p.Selector, "") + " are paused" + terms(p) + "."
			found = append(found, Problem{message, "reroll resume " + flags(p) + elsewhere(s), reloader.ReasonPausedByOperator})
		}
	}
	for _, w := range s.Windows {
		opens := "never opens"
		if !w.Next.IsZero() {
			opens = "opens at " + clock(w.Next)
		}
		if !w.Open {
			found = append(found, Problem{fmt.Sprintf("The maintenance window %s is closed, and %s.", w.Schedule, opens), "", reloader.ReasonOutsideWindow})
		}
	}
	return found
}

// unheard says as of when a workload is known that only audit events and resyncs report changes for, if those of some kind that it uses do not come in.
func (c Case) unheard() (text, next string) {
	if c.Status == nil || c.Status.Source != string(reloader.SourceAudit) {
		return "", ""
	}
	asOf := " This is as of the resync of " + clock(c.Status.SweptAt)
	if c.Status.SweptAt.IsZero() {
		asOf = " This is as of the start at " + clock(c.Status.StartedAt)
	}
	for _, f := range c.Status.Feeds {
		for _, kind := range f.Quiet {
			switch {
			case !slices.ContainsFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Config.Kind == kind && e.Config.Cluster == "" }):
				continue
			case f.State == "silent":
				next = "reroll audit check"
			}
			if f.LastAt.IsZero() {
				return fmt.Sprintf("%s: no audit event of a %s has come since the dispatcher started.", asOf, kind), next
			}
			return fmt.Sprintf("%s: the last audit event of a %s came at %s.", asOf, kind, clock(f.LastAt)), next
		}
	}
	if len(c.Status.Feeds) == 0 && !hears(c.Status) {
		return asOf + ": no audit event has come since the dispatcher started.", "reroll audit check"
	}
	return "", ""
}

// attribution says what is known of who made a change.
func attribution(s *reloader.ClusterStatus) string {
	const manager = "The author and the time of a change are those of the field manager in managedFields"
	switch {
	case fed(s, "silent", "refused"):
		return manager + " while no audit events come."
	case hears(s):
		return "The author of a change is the user in the event that reported it."
	case fed(s, "waiting"):
		return ""
	case s.Source == "watch":
		return manager + ": audit events are not taken (source watch)."
	}
	return manager + ": the audit feed is not set up."
}

// fed reports whether the audit feed of some API server is in one of these states.
func fed(s *reloader.ClusterStatus, states ...string) bool {
	return slices.ContainsFunc(s.Feeds, func(f reloader.FeedStatus) bool { return slices.Contains(states, f.State) })
}

// hears reports whether hints that name users have come in since the dispatcher started.
func hears(s *reloader.ClusterStatus) bool {
	return fed(s, "heard") || slices.ContainsFunc(s.Sources, func(s reloader.SourceStatus) bool {
		return slices.ContainsFunc(reloader.Sources, func(i reloader.SourceInfo) bool { return i.Source == s.Source && i.Users })
	})
}
