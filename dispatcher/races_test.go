package dispatcher_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestRaces: what comes late, twice, in another order or not at all.
func TestRaces(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"five copies of every hint, in any order, cause what one does": func(t *testing.T, w *world) {
			w.usually()
			w.stream.hold()
			for _, value := range []string{"2", "3", "4"} {
				w.edit(alice, app, value)
				w.pass(time.Second)
			}
			hints := slices.Repeat(w.stream.take(), 5)
			random := rand.New(rand.NewPCG(1, 2))
			random.Shuffle(len(hints), func(i, j int) { hints[i], hints[j] = hints[j], hints[i] })
			for _, h := range hints {
				w.stream.send(h)
				w.pass(100 * time.Millisecond)
			}
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, 1)
			if got := w.outcomes(webRef); len(got) != 1 || got[reloader.ReasonReloaded] != 1 {
				t.Errorf("outcomes %v, want one Reloaded", got)
			}
		},
		"the annotation comes before the edit, and the informer after it": func(_ *testing.T, w *world) {
			w.give("app", "1")
			w.deploy("web", "example.com/team: one", "app")
			w.settled()
			w.stall()
			w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reloader.stakater.com/auto":"true"}}}`)))
			w.pass(2 * time.Second)
			w.edit(alice, app, "2")
			w.pass(2 * time.Second)
			w.catchUp()
			w.rolls(1)
			w.edited("3", 2)
		},
		"what was decided about an older generation is refused, and decided again about the newer one": func(t *testing.T, w *world) {
			w.usually()
			w.stall()
			w.must(w.patch(alice, web, types.StrategicMergePatchType,
				[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"OTHER","value":"kept"}]}]}}}}`)))
			w.edited("2", 2)
			w.catchUp()
			w.rolls(2)
			template, _ := w.Template(t.Context(), web)
			env := template.Spec.Containers[0].Env
			if len(env) != 2 || !slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == "OTHER" && e.Value == "kept" }) ||
				!slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == "STAKATER_APP_CONFIGMAP" }) {
				t.Errorf("variables after the second decision: %v", env)
			}
			if n := w.counted("patch"); n != 2 {
				t.Errorf("%d patches, want one refused and one accepted", n)
			}
		},
		// A hint about every config of a namespace, as deletecollection and generateName leave, looks at all known ones.
		"nameless hint": func(t *testing.T, w *world) {
			w.usual()
			w.give("other", "1")
			w.deploy("second", auto, "other")
			w.settled()
			w.stream.hold()
			w.edit(alice, app, "2")
			w.edit(alice, "ConfigMap/other", "2")
			hint := w.stream.take()[0]
			hint.Config.Name, hint.Verb = "", reloader.VerbDeleteCollection
			w.stream.send(hint)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, 1)
			w.rolled("Deployment/second", 1)
		},
		// A workload that was deleted and created again under the dispatcher's hands is not patched for its predecessor.
		"workload replaced": func(_ *testing.T, w *world) {
			w.usually()
			w.stall()
			w.edit(alice, app, "2")
			w.must(w.delete(alice, web))
			w.pass(10 * time.Second)
			w.deploy("web", auto, "app")
			w.pass(quiet)
			w.catchUp()
			w.rolls(0)
			w.edited("3", 1)
		},
		"the successor was made of a copy that was taken during the pause": func(t *testing.T, w *world) {
			pausingWorld(t, w)
			w.replacing(func() {
				w.deploy("web", pausing, "app")
				since := time.Now().UTC().Format(time.RFC3339)
				w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+pausedAt+`":"`+since+`"}},"spec":{"paused":true}}`)))
			})
			w.pass(15 * time.Minute)
			w.wantPaused(true, true)
			w.pass(6 * time.Minute)
			w.wantPaused(false, false)
		},
	})
}

// TestInformerLate: a workload that the dispatcher learns of only after a change that its pods missed is rolled once; one whose pods
// started later is not.
func TestInformerLate(t *testing.T) {
	tests := map[string]struct {
		podStart time.Duration
		want     int64
		reason   string
	}{
		"pods older than the change":       {time.Second, 1, "the first pods have the old content"},
		"pods newer than the change":       {time.Minute, 0, "the pods have not started when the content changes"},
		"pods of the second of the change": {5 * time.Second, 1, "equal is not proven"},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.podStart = test.podStart
			w.give("app", "1")
			w.settled()
			w.stall()
			w.deploy("web", auto, "app")
			w.pass(5 * time.Second)
			w.edit(alice, app, "2")
			w.pass(2 * time.Minute)
			w.catchUp()
			w.pass(quiet)
			if g := w.revision(web); g != test.want+1 {
				t.Errorf("%d template changes, want %d: %s", g-1, test.want, test.reason)
			}
			w.podStart = 0
			w.edited("3", test.want+1)
		})
	}
}

// TestConfigMovesWhileItIsDecidedAbout: between the decision and the mark a newer content is looked at. The mark would be that of the newer one,
// and State would have the older one, for which the same mark would be written once more.
func TestConfigMovesWhileItIsDecidedAbout(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(2 * time.Second)}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/written":"since"}}}`))) // so the pods are read
		var once sync.Once
		w.failing(func(verb, _ string) error {
			if verb == "pods" {
				once.Do(func() {
					w.edit(alice, app, "3")
					<-time.After(500 * time.Millisecond)
				})
			}
			return nil
		})
		w.pass(quiet)
		if w.counted("pods") == 0 {
			t.Fatal("the pods were not read, so that nothing came in between")
		}
		w.rolled(web, 1)
	})
}

// TestConfigRecreatedBetweenLooks: the hints of the deletion and of the creation arrive together, or only one of them does.
func TestConfigRecreatedBetweenLooks(t *testing.T) {
	tests := map[string]struct {
		value string
		keep  func([]reloader.Hint) []reloader.Hint
		want  int64
	}{
		"equal content":                   {"1", func(h []reloader.Hint) []reloader.Hint { return h }, 0},
		"other content":                   {"2", func(h []reloader.Hint) []reloader.Hint { return h }, 1},
		"other content, creation is lost": {"2", func(h []reloader.Hint) []reloader.Hint { return h[:1] }, 1},
		"other content, deletion is lost": {"2", func(h []reloader.Hint) []reloader.Hint { return h[1:] }, 1},
	}
	for name, test := range tests {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.usually()
			w.stream.hold()
			w.must(w.delete(alice, app))
			w.pass(time.Second)
			w.give("app", test.value)
			w.stream.send(test.keep(w.stream.take())...)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, test.want)
		})
	}
}

// TestMaximumWaitOverRestarts: it does not begin again with each process.
func TestMaximumWaitOverRestarts(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(10 * time.Second)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usually()
		for i := range 48 {
			w.edit(alice, app, string(rune('A'+i)))
			w.pass(250 * time.Millisecond)
			if i%16 == 15 {
				w.stop()
				w.start()
			}
		}
		w.rolled(web, 1)
		w.rolls(2)
		w.edit(alice, app, "a")
		w.pass(500 * time.Millisecond)
		w.rolled(web, 2) // what has waited is over
	})
}

// TestRequestsPerChange: at window 0 a change and a dependent cost one read and one patch, many dependents no more reads. A hint
// that comes twice costs nothing more, and each roll one more look at the metadata later.
func TestRequestsPerChange(t *testing.T) {
	for _, dependents := range []string{"w", "wxyz"} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.give("app", "1")
			for _, name := range dependents {
				w.deploy(string(name), auto, "app")
			}
			w.settled()
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				w.counted(verb)
			}
			w.stream.hold()
			w.edit(alice, app, "2")
			hints := w.stream.take()
			w.stream.send(hints...)
			w.pass(quiet)
			want := map[string]int{"get": 1, "patch": len(dependents), "meta": 1}
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				if n := w.counted(verb); n != want[verb] {
					t.Errorf("%d dependents: %d requests of %s, want %d", len(dependents), n, verb, want[verb])
				}
			}
			w.stream.send(hints...)
			w.pass(quiet)
			if metas, gets := w.counted("meta"), w.counted("get"); metas != 0 || gets != 0 {
				t.Errorf("a hint that came twice cost %d reads of metadata and %d of content, want none", metas, gets)
			}
			w.give("stranger", "1")
			w.edit(alice, "ConfigMap/stranger", "2")
			w.pass(quiet)
			if n := w.counted("meta") + w.counted("get"); n != 0 {
				t.Errorf("%d reads of a config that nobody depends on", n)
			}
		})
	}
}

// slowly answers reads of the content of one config after five seconds, as behind thousands of others.
type slowly struct {
	dispatcher.Configs
	name string
}

// Get gets.
func (s slowly) Get(ctx context.Context, c reloader.Config) (live.Object, error) {
	if c.Name == s.name {
		<-time.After(5 * time.Second)
	}
	return s.Configs.Get(ctx, c)
}

// TestWindowWaitsForHints: two configs that change together go out together, although the second is verified long after the window of
// the first.
func TestWindowWaitsForHints(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(10 * time.Second)}, func(t *testing.T, w *world) {
		w.twoConfigs("app", "other")
		w.settled()
		w.stop()
		w.configure = func(o *dispatcher.Options) { o.Configs = slowly{o.Configs, "other"} }
		w.settled()
		w.starting(time.Minute)
		w.edit(alice, "ConfigMap/other", "2")
		w.edit(alice, app, "2")
		w.pass(4 * time.Second)
		w.rolled(web, 0)
		w.pass(time.Minute)
		w.rolled(web, 1) // whose pods have both
	})
}

// Workloads that are deleted and made again under the same name.

// replacing has the next patch of web find it gone, and replace make another one before the answer is heard.
func (w *world) replacing(replace func()) {
	w.failing(func(verb, _ string) error {
		if verb != "patch" {
			return nil
		}
		w.failing(nil)
		w.must(w.delete(alice, web))
		replace()
		return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
	})
}

// TestReplacedBeforeTheAnswer: that the predecessor is gone does not make the dispatcher forget the successor that it has seen by then.
func TestReplacedBeforeTheAnswer(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(5 * time.Second)}, func(t *testing.T, w *world) {
		w.usually()
		w.replacing(func() { w.deploy("web", auto, "app") })
		w.edited("2", 0)
		w.edited("3", 1)
	})
}
