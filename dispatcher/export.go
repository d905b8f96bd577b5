package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Workloads of other clusters may follow a config of this one if its annotations let them. Of a config that lets nobody nothing is recorded and
// nothing is told, whoever asks for it and however often: only its metadata is read, to see whether that is still so.

// exported is a config that other clusters follow.
type exported struct {
	// targets are those that asked lately.
	targets map[string]asker
	// looked is when the config was last looked at for them.
	looked time.Time
	// open says that it let one of them follow when it was last looked at. Of one that lets nobody, nothing is known or recorded.
	open bool
	// touched counts the hints about it.
	touched int
}

// stillRefused reports whether e let none of those follow that ask when it was looked at for all of them less than exportTime ago, and no hint
// has come since.
func (e *exported) stillRefused(now time.Time) bool {
	for _, a := range e.targets {
		if a.refused != e.touched+1 {
			return false
		}
	}
	return now.Sub(e.looked) <= exportTime
}

// asker is a cluster that wants to follow a config: when it asked last, the number that it gave, and how many hints about the config had come, plus
// one, when the last look for it found that the config lets nobody follow; 0 if it found another thing.
type asker struct {
	at      time.Time
	number  uint64
	refused int
}

const (
	// wantTime is how long a target is remembered that does not ask again. While this cluster is cut off from the hub, or the target is, each change
	// is recorded with who made it, and the newest is told.
	wantTime = 24 * time.Hour
	// exportTime is how often a config is looked at for others although no hint came.
	exportTime = time.Minute
	// exportsPerSecond is how many configs are looked at because one cluster asks, beyond a first exportBurst: each that it may ask for once
	// in exportTime.
	exportsPerSecond, exportBurst = float64(reloader.MaxWanted) / float64(exportTime/time.Second), reloader.MaxWanted
)

// Wanted takes note of what another cluster wants to follow here, which is all that it names and nothing that it named before, and has it
// told what it may know. Of one that wants more than reloader.MaxWanted nothing is taken.
func (d *Dispatcher) Wanted(w reloader.Want) {
	if d.Copies == nil || w.Owner != d.Cluster || w.Target == d.Cluster || len(w.Configs) > reloader.MaxWanted {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takeWant(w, time.Now())
}

// takeWant is Wanted, also for this cluster itself. The caller holds mu.
func (d *Dispatcher) takeWant(w reloader.Want, now time.Time) {
	d.dropWants(w, now)
	for i, c := range w.Configs {
		d.wantedBy(w.Target, c, w.Number(i), now)
	}
}

// wantedBy takes note that a cluster wants to follow c. The caller holds mu.
func (d *Dispatcher) wantedBy(target string, c reloader.Config, number uint64, now time.Time) {
	e := d.exports[c]
	if e == nil {
		e = &exported{targets: map[string]asker{}}
		d.exports[c] = e
	}
	was, known := e.targets[target]
	e.targets[target] = asker{now, number, was.refused}
	if known && was.number == number && now.Sub(e.looked) <= exportTime {
		return
	}
	if e.stillRefused(now) || target == d.Cluster {
		d.exportQ.Add(c)
		return
	}
	if wait, ok := d.mayLookFor(target, now); ok {
		d.exportQ.AddAfter(c, wait)
	}
}

// mayLookFor returns when a config may be looked at because a cluster asks. It is false if that is not within exportTime: the cluster asks
// again and again. The caller holds mu.
func (d *Dispatcher) mayLookFor(target string, now time.Time) (wait time.Duration, ok bool) {
	limit := d.askers[target]
	if limit == nil {
		limit = rate.NewLimiter(rate.Limit(exportsPerSecond), exportBurst)
		d.askers[target] = limit
	}
	turn := limit.ReserveN(now, 1)
	if wait = turn.DelayFrom(now); wait > exportTime {
		turn.CancelAt(now)
		return 0, false
	}
	return wait, true
}

// dropWants forgets what the target of w does not want any more, and who has not asked for long. The caller holds mu.
func (d *Dispatcher) dropWants(w reloader.Want, now time.Time) {
	wanted := make(map[reloader.Config]struct{}, len(w.Configs))
	for _, c := range w.Configs {
		wanted[c] = struct{}{}
	}
	for c, e := range d.exports {
		_, still := wanted[c]
		maps.DeleteFunc(e.targets, func(target string, a asker) bool {
			return now.Sub(a.at) > wantTime || target == w.Target && !still
		})
		if len(e.targets) == 0 {
			delete(d.exports, c)
		}
	}
}

// export tells each cluster that wants to follow c what it may know. It looks at the content only if one of them may. What it tells is as old as
// the moment in which it begins to look, so that a look which takes long is not taken for a newer one than another process has had meanwhile.
func (d *Dispatcher) export(ctx context.Context, c reloader.Config) time.Duration {
	defer d.tellings.lock(c)()
	targets, touched, refused := d.targetsOf(c)
	at := time.Now()
	if len(targets) == 0 {
		return 0
	}
	var f fact
	var stored reloader.StoredChange
	var err error
	if !refused {
		f, stored, err = d.lookFor(ctx, c, targets)
		d.noteRefusal(c, touched, targets, f, err)
	}
	if err != nil && fateOf(err) != fateNever {
		d.Logger.Warn("a config that other clusters follow could not be looked at", "config", c.String(), "error", err)
		return again
	}
	for target, asked := range targets {
		told := reloader.Copy{Owner: d.Cluster, Target: target, Config: c, Answers: asked.number, At: at}
		if refused || err != nil || f.absent || stored.Change.ID == "" || !exports(f.Meta, target) {
			told.Refused = fmt.Sprintf("it is not there, may not be read, or its annotation %s does not name %s, or it says that it rolls nothing", dialect.FollowersKey, target)
		} else {
			told.Change = stored.Change
		}
		d.tell(told)
	}
	return 0
}

// tell sends c unless its target has ended to ask while its config was looked at: then nobody would drop it.
func (d *Dispatcher) tell(c reloader.Copy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.exports[c.Config]; e == nil || !e.asks(c.Target) {
		return
	}
	if c.Target == d.Cluster {
		d.receive(c)
		return
	}
	d.Copies.Send(c)
}

// lets reports whether a config with that metadata lets one of those that want to follow it do so.
func (e *exported) lets(m live.Meta) bool {
	for target := range e.targets {
		if exports(m, target) {
			return true
		}
	}
	return false
}

func (e *exported) asks(target string) bool {
	_, asks := e.targets[target]
	return asks
}

// exports reports whether the config with that metadata lets workloads of a cluster follow it.
func exports(m live.Meta, target string) bool {
	return !m.Unselected && dialect.MayFollow(m.Annotations, target)
}

// lookFor looks at c if it lets one of the targets follow, and at its metadata alone otherwise; then no change is returned.
func (d *Dispatcher) lookFor(ctx context.Context, c reloader.Config, targets map[string]asker) (fact, reloader.StoredChange, error) {
	meta, err := d.Configs.Meta(ctx, c)
	d.metrics.reads.WithLabelValues("metadata").Inc()
	open := false
	for target := range targets {
		open = open || err == nil && exports(meta, target)
	}
	if err != nil && !apierrors.IsNotFound(err) && fateOf(err) != fateNever {
		return fact{}, reloader.StoredChange{}, fmt.Errorf("read metadata of %s: %w", c, err)
	}
	was := d.opened(c, open)
	if !open && (!was || !apierrors.IsNotFound(err)) {
		return fact{Meta: meta}, reloader.StoredChange{}, nil
	}
	f, stored, err := d.look(ctx, c, nil, false) // which also records its end
	if err == nil && open && !was && !d.dependedOn(c) {
		stored, err = d.nameLast(ctx, stored, f)
	}
	if err != nil {
		d.opened(c, was)
	}
	return f, stored, err
}

func (d *Dispatcher) dependedOn(c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.index.byConfig[c]) > 0
}

// nameLast names who made the last request for a config that nobody has looked at until now, for which its hint was dropped, if that request may
// have led to its newest change and nobody is named for that. Others may have made requests before.
func (d *Dispatcher) nameLast(ctx context.Context, last reloader.StoredChange, f fact) (reloader.StoredChange, error) {
	change := last.Change
	if change.Source != reloader.SourceSweep || len(change.Candidates) > 0 {
		return last, nil
	}
	hint, ok, err := d.Hints.LastHint(ctx, d.Cluster, change.Config)
	if err != nil || !ok {
		return last, err
	}
	defer d.looks.lock(change.Config)()
	hints, err := d.behind(ctx, change, f, []reloader.Hint{hint})
	if err != nil || len(hints) == 0 {
		return last, err
	}
	change.Source, change.RequestedAt, change.ReceivedAt = hint.Source, hint.Time, hint.Received
	who := reloader.Candidate{Actor: hint.Actor, Verb: hint.Verb, AuditID: hint.AuditID, Time: hint.Time, Basis: reloader.BasisAmbiguous}
	if namesManager(who.Actor, f.DataManager) && hint.Time.Sub(f.DataWritten).Abs() <= attributionSlack {
		who.Basis = reloader.BasisFieldManager
	}
	change.Candidates = []reloader.Candidate{who}
	stored, err := d.append(ctx, change, last)
	if errors.Is(err, reloader.ErrOutrun) {
		return last, nil // whoever was faster tells of it
	}
	return stored, err
}

// opened takes note of whether c lets some cluster follow, and returns what was noted before.
func (d *Dispatcher) opened(c reloader.Config, open bool) (was bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.exports[c]
	if e == nil {
		return false
	}
	was, e.open = e.open, open
	return was
}

// targetsOf returns the clusters that want to follow c, how many hints about it have come, and whether it still lets none of them follow, so that
// it need not be looked at. It forgets those that do not ask any more.
func (d *Dispatcher) targetsOf(c reloader.Config) (targets map[string]asker, touched int, refused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.exports[c]
	if e == nil {
		return nil, 0, false
	}
	now := time.Now()
	maps.DeleteFunc(e.targets, func(_ string, a asker) bool { return now.Sub(a.at) > wantTime })
	if len(e.targets) == 0 {
		delete(d.exports, c)
	}
	if refused = e.stillRefused(now); !refused {
		e.looked = now
	}
	return maps.Clone(e.targets), e.touched, refused
}

// noteRefusal takes note of whether a look at c for targets, of which f or err is the result, has found that it lets none of them follow. touched
// is how many hints had come before the look.
func (d *Dispatcher) noteRefusal(c reloader.Config, touched int, targets map[string]asker, f fact, err error) {
	refused := touched + 1
	for target := range targets {
		if err != nil && fateOf(err) != fateNever || err == nil && exports(f.Meta, target) {
			refused = 0
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.exports[c]; e != nil {
		for target := range targets {
			if a, asks := e.targets[target]; asks {
				a.refused = refused
				e.targets[target] = a
			}
		}
	}
}

// needed reports whether c is to be looked at: somebody here depends on it, or another cluster may follow it. The caller holds mu.
func (d *Dispatcher) needed(c reloader.Config) bool {
	return len(d.index.byConfig[c]) > 0 || d.exports[c] != nil && d.exports[c].open
}

// Needs reports whether anything is known to depend on c, be it by the record of a workload that cannot be seen now. Before Ready, anything may.
func (d *Dispatcher) Needs(c reloader.Config) bool {
	if !d.ready.Load() {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.needed(c) {
		return true
	}
	for _, r := range d.records {
		if slices.ContainsFunc(r.Edges, func(e reloader.Edge) bool { return e.Config == c }) {
			return true
		}
	}
	return false
}

// exportedIn returns the configs of a kind and namespace that nobody here depends on, and other clusters may follow. The caller holds mu.
func (d *Dispatcher) exportedIn(kind reloader.ConfigKind, namespace string) (found []reloader.Config) {
	for c, e := range d.exports {
		if e.open && c.Kind == kind && c.Namespace == namespace && len(d.index.byConfig[c]) == 0 {
			found = append(found, c)
		}
	}
	return found
}

// tellFollowers has other clusters told of c, if they want to follow it, or of all that c stands for. The caller holds mu.
func (d *Dispatcher) tellFollowers(c reloader.Config) {
	touch := func(one reloader.Config, e *exported) {
		e.touched++
		d.exportQ.Add(one)
	}
	if e := d.exports[c]; e != nil {
		touch(c, e)
	}
	if c.Name != "" {
		return
	}
	for one, e := range d.exports {
		if one.Kind == c.Kind && one.Namespace == c.Namespace {
			touch(one, e)
		}
	}
}
