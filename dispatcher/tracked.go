package dispatcher

import (
	"cmp"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// RequestedAnnotation on a workload asks for one roll by each new value.
	RequestedAnnotation = mark.RequestedKey
	// RetryAnnotation on a workload asks, by each new value, for another try of what holds the workload back, and takes back that its stalled
	// rollout halts those of others.
	RetryAnnotation = dialect.RetryKey
)

// tracked is what is known about one opted-in workload. w and plan are replaced and never changed.
type tracked struct {
	in   *common
	w    *workload.Workload
	plan *dialect.Plan
	// edges are the configs that w depends on: those that its plan names and those that its patterns were seen to match.
	edges reloader.ByConfig[*edge]
	carried
	listing
	// going says that nothing holds it back any more and it is being rolled.
	going bool
	// hold is why it waits although it is due; nil if it does not. One that moved each time it had to be rolled is left alone until Due.
	hold *reloader.Hold
	// asking is the reload of its running pods; nil if there is none.
	asking *asking
	// rollout follows the last reload; nil if it is not followed.
	rollout *rollout.Rollout
	// reload is the ID of the last one, and damaged what is wrong with the annotation that has the State.
	reload, damaged string
	// recorded is the print of the record that is stored; 0 if that is not known.
	recorded uint64
}

// carried is what a workload runs with: its State, and where that is from.
type carried struct {
	// state is the newest that is known, and text the annotation of the workload that it was joined with.
	state applied.State
	text  string
	// since is when this process learned of a state that it did not write itself: a decision takes no look at a config that began earlier.
	since time.Time
	// intends is what the annotation says after the roll that is being written; empty if none is.
	intends string
}

// listing is how far the patterns of a workload were matched.
type listing struct {
	// relist says that they must be matched against all configs, tries how often that failed, and listed when it was begun last.
	relist bool
	tries  int
	listed time.Time
	// idle are the patterns that found nothing then.
	idle []reloader.Missing
	// crowded says that they match more than may count.
	crowded string
}

func (t *tracked) behind() bool {
	return slices.ContainsFunc(t.edges, func(of reloader.OfConfig[*edge]) bool { return of.Value.behind })
}

// waits returns what t is behind by, without what rests at a time.
func (t *tracked) waits(now time.Time) (waits turn.Wait) {
	for _, e := range t.edges.All() {
		if e.behind && !e.rests(now) {
			waits = waits.And(e.wait)
		}
	}
	return waits
}

// behindSince returns since when t waits for the oldest of its changes; zero if it waits for none.
func (t *tracked) behindSince() (since time.Time) {
	for _, e := range t.edges.All() {
		if s := e.wait.Since(); e.behind && (since.IsZero() || s.Before(since)) {
			since = s
		}
	}
	return since
}

// open returns the configs that must be decided about at a time, each with how often it was opened: those that are new, or also those that t is
// behind by.
func (t *tracked) open(now time.Time, behind bool) map[reloader.Config]int {
	found := map[reloader.Config]int{}
	for c, e := range t.edges.All() {
		if e.open && (behind || !e.behind) && !e.rests(now) {
			found[c] = e.opened
		}
	}
	return found
}

// target is the object that carries the pod template, or that is rolled in its place.
func (t *tracked) target() *workload.Workload { return targetOf(t.w, t.plan) }

func targetOf(w *workload.Workload, p *dialect.Plan) *workload.Workload {
	if w.Via != nil && p.Chosen.Strategy != plan.Restart {
		return w.Via
	}
	return w
}

// asked reports whether t has a value of RequestedAnnotation that has not rolled it yet.
func (t *tracked) asked() bool {
	value := t.w.Annotations[RequestedAnnotation]
	return value != "" && reloader.ValueID(value) != t.state.Requested
}

// retries reports whether t has a value of RetryAnnotation that it did not have when it was last rolled, or had nothing to try again.
func (t *tracked) retries() bool {
	value := t.w.Annotations[RetryAnnotation]
	return value != "" && reloader.ValueID(value) != t.state.Retried
}

// decide returns what t wants of c, given f.
func (t *tracked) decide(c reloader.Config, f fact) dialect.Decision {
	return t.plan.Decide(t.in.metaOf(c, f))
}

// shows reports whether t may know anything about c, given f.
func (t *tracked) shows(c reloader.Config, f fact) bool { return t.plan.Shows(t.in.metaOf(c, f)) }

// live returns f, a look at c, as t may know it.
func (t *tracked) live(c reloader.Config, f fact) applied.Live {
	if !t.shows(c, f) || f.absent {
		return applied.Live{Seen: f.seen, Began: f.began, Touched: f.touched}
	}
	l := applied.Live{
		Write: applied.Write{Version: f.ResourceVersion}, Meta: f.Meta, Unread: f.unread, Touched: f.touched, Seen: f.seen, Began: f.began,
	}
	if f.unread {
		return l
	}
	counts := t.decide(c, f).Counts
	l.Write = applied.WriteOf(f.ResourceVersion, f.digest, counts)
	for _, older := range f.older {
		l.Older = append(l.Older, applied.WriteOf(f.ResourceVersion, older, counts))
	}
	return l
}

// counting returns what counts as a change of c for t.
func (t *tracked) counting(c reloader.Config, f fact) plan.Counting {
	counting := plan.CountingOf(c, t.decide(c, f), t.in.ReloadOnCreate, t.in.ReloadOnDelete)
	if c.Namespace != t.w.Namespace && !f.absent && f.Created.Before(t.state.AsOf().Truncate(time.Second)) {
		counting.Creation = false // it was there, and is shown now
	}
	return counting
}

// strategyOf returns the name of the strategy that p chooses, or of that of the installation.
func (d *common) strategyOf(p *dialect.Plan) string { return cmp.Or(p.Chosen.Strategy, d.Strategy) }

// strategyName returns the name of the way in which t takes new content, by what became of it.
func (t *tracked) strategyName(outcome reloader.Reason) string {
	if h := t.plan.Chosen.Hot; h != nil && outcome != reloader.ReasonReloaded {
		return h.Strategy
	}
	general := t.in.strategyOf(t.plan)
	if len(t.plan.Enabled) > 0 && general != plan.Restart {
		return cmp.Or(t.plan.Enabled[0].Mark.Name, general)
	}
	return general
}

// marked reports whether the pod template of t, as w has it, carries the mark of the last roll, or nothing was rolled.
func (t *tracked) marked(w *workload.Workload) bool {
	if t.state.N == 0 || w.Roll() != workload.InPlace || t.plan.Chosen.Strategy == plan.Restart || t.in.Webhook != nil {
		return true
	}
	return w.Template.Annotations[workload.HashKey] == t.state.Mark
}

// knowsAnother reports whether t was brought to another config of a dialect that marks all of its configs together: its mark was made without c then.
func (t *tracked) knowsAnother(dl *dialect.Dialect, c reloader.Config) bool {
	if t.state.N == 0 && !t.state.AsOf().Before(t.w.LastWritten) {
		return false // it has the mark that it had when it was seen first
	}
	return slices.ContainsFunc(t.plan.Only(dl).Names, func(o reloader.Config) bool {
		w, known := t.state.Writes.Find(o)
		return o != c && known && !w.Out
	})
}

// edge is the dependency of a workload on a config.
type edge struct {
	// open says that the config has to be decided about, and behind that it is to roll the workload as far as is known. opened counts how often it
	// was opened.
	open, behind bool
	opened       int
	wait         turn.Wait
	// tries is how often in a row it could not be decided about, and rest until when it is not tried again.
	tries int
	rest  time.Time
	// changes are those that the workload is behind by, the oldest first.
	changes []reloader.Change
	// unwanted is the digest of the content that the config had when it was last found not to count for the workload: that is nothing it missed. It is
	// empty if the config was absent, or always counted.
	unwanted string
	// how is the reason of the entry in State, and at its time.
	how reloader.Reason
	at  time.Time
}

// reopen has the config decided about, whatever is known.
func (e *edge) reopen() {
	e.open, e.rest = true, time.Time{}
	e.opened++
}

// close ends what was decided about.
func (e *edge) close() {
	e.open, e.behind, e.wait, e.changes, e.tries = false, false, turn.Wait{}, nil, 0
}

// addCause notes a change that the workload is behind by.
func (e *edge) addCause(change reloader.Change) {
	if n := len(e.changes); n > 0 && (e.changes[n-1].ID == change.ID || n >= maxCauses) {
		e.changes[n-1] = change
	} else if change.ID != "" {
		e.changes = append(e.changes, change)
	}
}

// maxCauses bounds the changes of one config that a waiting workload remembers: the first ones and the newest.
const maxCauses = 16

// serve ends what a roll has taken of a config that had been opened that often: what was found since it began is still to be rolled for.
func (e *edge) serve(opened int, began time.Time) {
	if e.opened == opened {
		e.close()
		return
	}
	if e.wait, e.behind = e.wait.After(began); !e.behind {
		e.changes = nil
	}
}

func (e *edge) rests(now time.Time) bool { return now.Before(e.rest) }
