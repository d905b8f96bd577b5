package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// outlook is what is left to do about the workloads of a namespace: what is in flight, and what waits on purpose or for a fix. Each entry is a sentence
// about one of them, or about one config.
type outlook struct{ pending, held []string }

// Barrier waits until every write of workloads and their configs that the API server answered before the call is decided: the watch has handed on the
// workloads, a look has found each config as it was then or later, no dependency is undecided, nothing waits for its debounce window, no roll is being
// written, and the ledger is. It ends with ctx at the latest, and returns what is pending then. It reads and changes nothing, so that a write without a hint
// stays pending until a sweep finds it.
func (d *Dispatcher) Barrier(ctx context.Context, namespace string) (pending, held []string) {
	var o outlook
	var unseen func() []reloader.WorkloadRef
	var written *writes
	check := func() (o outlook, err error) {
		if d.ready.Load() == nil {
			return outlook{pending: []string{"the first sweep of this process has not ended, or another replica leads"}}, nil
		}
		if unseen == nil {
			asked, err := d.Workloads.Unseen(ctx, namespace)
			if err != nil {
				return o, err
			}
			unseen = asked
		}
		for _, ref := range unseen() {
			o.pending = append(o.pending, ref.String()+": the watch has not reported its last write")
		}
		if written == nil && len(o.pending) == 0 { // it is known which configs matter
			written, err = d.writesFor(ctx, namespace)
		}
		if len(o.pending) > 0 || err != nil {
			return o, err
		}
		return d.compare(namespace, written), nil
	}
	_ = wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		var err error
		if o, err = check(); err != nil {
			o.pending = []string{"the API server: " + err.Error()}
		}
		return len(o.pending) == 0, nil
	})
	return o.pending, o.held
}

// writes are configs as the API server had them when they were asked for. Those that are not there were absent.
type writes struct {
	began time.Time
	of    map[scope]map[reloader.Config]live.Meta
}

// writesFor reads the metadata of all configs that workloads of a namespace may depend on. The version of a SecretProviderClass in a list is not that of
// what is mounted.
func (d *Dispatcher) writesFor(ctx context.Context, namespace string) (*writes, error) {
	w := &writes{began: time.Now(), of: map[scope]map[reloader.Config]live.Meta{}}
	for s, configs := range d.sourcesOf(namespace) {
		listed, err := d.Configs.List(ctx, s.kind, s.namespace)
		if s.kind.External() || apierrors.IsForbidden(err) {
			listed, err = map[reloader.Config]live.Meta{}, nil
			for _, c := range configs {
				meta, failed := d.Configs.Meta(ctx, c)
				switch fate := fateOf(failed); {
				case failed == nil:
					listed[c] = meta
				case fate != fateGone && fate != fateNever: // what cannot be read is held
					err = failed
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %ss of %s: %w", s.kind, s.namespace, err)
		}
		w.of[s] = listed
	}
	return w, nil
}

// sourcesOf returns the scopes of the configs of this cluster that workloads of a namespace depend on, each with these configs.
func (d *Dispatcher) sourcesOf(namespace string) map[scope][]reloader.Config {
	b := d.lock()
	defer d.unlock()
	scopes := map[scope][]reloader.Config{}
	for c, dependents := range b.index.byConfig {
		if c.Cluster == "" && slices.ContainsFunc(dependents, func(t *tracked) bool { return t.w.Namespace == namespace }) {
			scopes[scopeOf(c)] = append(scopes[scopeOf(c)], c)
		}
	}
	for _, t := range b.index.patterned[namespace] {
		for _, p := range t.plan.Patterns {
			s := scope{p.Kind, namespace}
			scopes[s] = slices.Clip(scopes[s]) // it is among them, even if none of its configs is known
		}
	}
	return scopes
}

// compare compares what is known with written.
func (d *Dispatcher) compare(namespace string, written *writes) (o outlook) {
	b := d.lock()
	defer d.unlock()
	now := time.Now()
	for ref, t := range b.index.byRef {
		if ref.Namespace == namespace {
			b.addOutlook(&o, t, written, now)
		}
	}
	if b.states.writing[namespace] || len(b.states.changed[namespace]) > 0 {
		o.pending = append(o.pending, "the ledger of the namespace is not written")
	}
	slices.Sort(o.pending)
	slices.Sort(o.held)
	return o
}

func (b *board) addOutlook(o *outlook, t *tracked, written *writes, now time.Time) {
	say := func(to *[]string, format string, args ...any) {
		*to = append(*to, t.w.Ref().String()+": "+fmt.Sprintf(format, args...))
	}
	for c, e := range t.edges.All() {
		switch known := b.configs[c]; {
		case known != nil && known.unreadable != "":
			say(&o.held, "%s cannot be read", c)
		case b.intake.unanswered(c) || written.late(c, known):
			say(&o.pending, "the last write of %s was not looked at", c)
		case !e.open || e.behind:
		case e.tries >= maxTries:
			say(&o.held, "%s cannot be decided about; the next try is at %s", c, e.rest.UTC().Format(time.RFC3339))
		default:
			say(&o.pending, "%s is not decided about", c)
		}
	}
	if t.relist && len(t.plan.Patterns) > 0 && t.tries < maxTries {
		say(&o.pending, "its patterns must be matched")
	}
	for _, kind := range reloader.ConfigKinds {
		for c := range written.of[scope{kind, t.w.Namespace}] {
			if hasPattern(t.plan, kind) && t.edges.Get(c) == nil && t.crowded == "" && t.plan.Matches(c) {
				say(&o.pending, "%s, which its pattern matches, was not looked at", c)
			}
		}
	}
	switch behind, asked := t.behind(), t.asked(); {
	case t.going:
		say(&o.pending, "it is being rolled")
	case !behind && !asked:
	case t.hold != nil && t.hold.Reason == reloader.ReasonRetrying:
		say(&o.pending, "not patched yet, after %d attempts: %s", t.hold.Attempts, t.hold.Message)
	case t.hold != nil && (t.hold.Due.IsZero() || t.hold.Due.After(now)):
		say(&o.held, "%s", t.hold.Reason)
	case behind && turn.Due(b.gate.turn(t, now), now).After(now):
		say(&o.pending, "waits until %s, the end of its debounce window", turn.Due(b.gate.turn(t, now), now).UTC().Format(time.RFC3339Nano))
	default:
		say(&o.pending, "it is due and was not rolled")
	}
}

// late reports whether the newest look at c began before w was read, and found another write. A write that proves nothing calls for no look.
func (w *writes) late(c reloader.Config, e *entry) bool {
	listed, asked := w.of[scopeOf(c)]
	meta, there := listed[c]
	switch {
	case !asked || c.Cluster != "":
		return false
	case !e.looked():
		return true
	case e.now.began.After(w.began):
		return false
	}
	return e.now.absent == there || there && !meta.Unproven && (e.now.UID != meta.UID || e.now.ResourceVersion != meta.ResourceVersion)
}
