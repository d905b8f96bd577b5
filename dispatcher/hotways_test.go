package dispatcher_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestHotReloadWithoutRestart: a workload that forbids a restart waits for help. Workloads that wait for its step do not follow when its pods fail.
func TestHotReloadWithoutRestart(t *testing.T) {
	const never = hotHTTP + `, reroll.dev/http-fallback: none`
	each(t, scenario.Settings{}, worlds{
		"it cannot": func(t *testing.T, w *world) {
			r := w.run()
			r.workload("web", never, `{containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}`, 1)
			r.settled()
			r.edits("2", time.Hour)
			r.held(reloader.ReasonReloadFailed)
			r.have("1", 0)
			r.ended(once(reloader.ReasonReloadFailed))
		},
		"its pods fail": func(t *testing.T, w *world) {
			r := w.run()
			configure := w.configure
			w.configure = func(o *dispatcher.Options) { configure(o); o.HaltOnFailedRollouts = true }
			for _, name := range []string{"web", "next", "last"} {
				r.workload(name, never, mounts, 1)
			}
			r.settled()
			r.answer = func(p *runner, _ string) ([]byte, error) {
				if r.files(p) == "bad" {
					return nil, errors.New("status 500")
				}
				return nil, nil
			}
			count := func() (calls int, holds map[reloader.Reason]int) {
				holds = map[reloader.Reason]int{}
				for _, name := range []string{"web", "next", "last"} {
					record, _ := r.store.recordOf(webNamed(name))
					_, times := r.reads(name)
					calls += times[0]
					if record.Hold != nil {
						holds[record.Hold.Reason]++
					}
				}
				return calls, holds
			}
			r.edits("bad", 30*time.Minute)
			if calls, holds := count(); calls != 0 || holds[reloader.ReasonReloadFailed] != 1 || holds[reloader.ReasonHalted] != 2 {
				t.Errorf("%d calls answered, holds %v", calls, holds)
			}
			r.edits("good", 20*time.Minute)
			if calls, _ := count(); calls != 6 {
				t.Errorf("%d calls answered after the correction, want two for each workload", calls)
			}
		},
	})
}

// TestHotReloadTakesItsPlace: while pods of a workload are asked, it takes a place among those that may roll out at once.
func TestHotReloadTakesItsPlace(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.run()
		configure := w.configure
		w.configure = func(o *dispatcher.Options) { configure(o); o.Limits.Concurrent = 1 }
		r.workload("web", hotHTTP, mounts, 1)
		r.workload("next", hotHTTP, mounts, 1)
		r.settled()
		r.edits("2", 0)
		for _, want := range []int{1, 3, 4} { // the second begins when the first has ended
			r.pass(80 * time.Second)
			_, first := r.reads("web")
			_, second := r.reads("next")
			if first[0]+second[0] != want {
				t.Errorf("asked %v and %v times, want %d together", first, second, want)
			}
		}
	})
}

// TestHotReloadIsNotedFirst: no pod is asked before the ledger says so, however long it takes to list pods. A process that ends after the call would otherwise
// leave pods with content that the next one does not know of.
func TestHotReloadIsNotedFirst(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.hot(hotHTTP, 1)
		r.answer = func(*runner, string) ([]byte, error) {
			w.ledger.mu.Lock()
			defer w.ledger.mu.Unlock()
			if entry := w.ledger.entries[webRef]; !strings.Contains(entry, "ffffffffffffffff") {
				t.Errorf("a pod is asked, and the ledger has %s", entry)
			}
			return nil, nil
		}
		w.failing(func(verb, _ string) error {
			if verb == "running" {
				<-time.After(5 * time.Second)
			}
			return nil
		})
		r.edits("2", 10*time.Minute)
		if _, asked := r.reads("web"); asked[0] != 2 {
			t.Errorf("asked %v times, want 2", asked)
		}
	})
}

// TestHotReloadDryRun: no pod is touched or asked.
func TestHotReloadDryRun(t *testing.T) {
	inWorld(t, scenario.Settings{DryRun: true}, func(t *testing.T, w *world) {
		r := w.hot(hotHTTP, 1)
		r.edits("2", quiet)
		r.have("1", 0)
		r.ended(once(reloader.ReasonDryRun))
		if n := r.counted("refresh"); n > 0 {
			t.Errorf("%d pods were touched", n)
		}
	})
}

// TestHotReloadStrategies: each asks in its own way, and proof is asked for where it can be had. A pause period delays no call, and pauses nothing.
func TestHotReloadStrategies(t *testing.T) {
	const post = `reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r"`
	grows := 0
	for name, c := range map[string]struct {
		annotations string
		answer      func(r *runners, path string) []byte
		outcome     reloader.Reason
		after       time.Duration
		asked       int
		call        string
	}{
		"refresh": {`reroll.dev/strategy: refresh`, nil, reloader.ReasonRefreshed, 5 * time.Second, 0, ""},
		"exec":    {`reroll.dev/strategy: exec, reroll.dev/exec-reload: '["nginx", "-s", "reload"]'`, nil, reloader.ReasonCalled, 2 * time.Minute, 2, "pod-1 POST :main/[nginx -s reload]"},
		"token":   {post + `, reroll.dev/http-secret: key`, nil, reloader.ReasonCalled, 2 * time.Minute, 2, "pod-1 POST main/key:80/r"},
		"pausing": {post + `, deployment.reloader.stakater.com/pause-period: 1h`, nil, reloader.ReasonCalled, 2 * time.Minute, 2, "pod-1 POST :80/r"},
		"version": {post + `, reroll.dev/http-verify: "GET :80/v"`, func(r *runners, _ string) []byte {
			obj, _ := r.read(app)
			return []byte("version " + obj.GetResourceVersion() + ".")
		}, reloader.ReasonVerified, 2 * time.Minute, 2, "pod-1 GET :80/v"},
		"another version": {post + `, reroll.dev/http-verify: "GET :80/v"`, func(r *runners, _ string) []byte {
			obj, _ := r.read(app)
			return []byte("version 1" + obj.GetResourceVersion())
		}, reloader.ReasonReloaded, 3 * time.Minute, 5, "pod-1 GET :80/v"},
		"metric": {post + `, reroll.dev/http-verify: "GET :80/metrics reloads_total"`, func(_ *runners, path string) []byte {
			if path == "/r" {
				grows++
			}
			return fmt.Appendf(nil, "reloads_total_more 7\nreloads_total{a=\"b\"} %d\n", grows)
		}, reloader.ReasonVerified, 2 * time.Minute, 2, "pod-1 GET :80/metrics"},
		"metric that stays": {
			post + `, reroll.dev/http-verify: "GET :80/metrics reloads_total"`, func(*runners, string) []byte { return []byte("reloads_total 3 1700000000\n") },
			reloader.ReasonReloaded, 3 * time.Minute, 13, "pod-1 GET :80/metrics",
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			r := w.hot(`reroll.dev/auto: "true", `+c.annotations, 1)
			if c.answer != nil {
				r.answer = func(_ *runner, path string) ([]byte, error) { return c.answer(r, path), nil }
			}
			r.edits("2", c.after)
			r.ended(once(c.outcome))
			r.wantPaused(false, false)
			_, asked := r.reads("web")
			if asked[0] != c.asked || c.call != "" && !slices.Contains(r.calls, c.call) {
				t.Errorf("asked %v, calls %q", asked, r.calls)
			}
			if p := r.pods["web"][0]; r.files(p) != "2" {
				t.Errorf("files %q", r.files(p))
			}
		})
	}
}

// TestHotReloadLosesNothing: whatever happens meanwhile, each pod that runs at the end has the newest content, without a restart, and was asked no more than
// twice for each change and each process that ended.
func TestHotReloadLosesNothing(t *testing.T) {
	for seed := range uint64(40) {
		runWorld(t, fmt.Sprint(seed), scenario.Settings{}, func(t *testing.T, w *world) {
			random, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
			r := w.hot(hotHTTP, 3)
			r.lag = time.Duration(random.IntN(20)) * time.Second
			r.answer = func(*runner, string) ([]byte, error) {
				if luck.IntN(5) == 0 {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}
			most := 0
			for range 12 {
				switch random.IntN(5) {
				case 0:
					r.end("web")
					r.begin("web")
				case 1:
					r.stop()
					r.pass(time.Duration(random.IntN(30)) * time.Second)
					r.start()
					most += 2
				default:
					r.edits(fmt.Sprint(random.IntN(3)), 0)
					most += 2
				}
				r.pass(time.Duration(random.IntN(60_000)) * time.Millisecond)
			}
			r.mu.Lock()
			r.answer = func(*runner, string) ([]byte, error) { return nil, nil }
			r.mu.Unlock()
			r.pass(10 * time.Minute)
			r.held("")
			newest := r.writes[len(r.writes)-1].value
			has, asked := r.reads("web")
			if slices.ContainsFunc(has, func(v string) bool { return v != newest }) || slices.Max(asked) > most {
				t.Errorf("pods run with %q and were asked %v times; want %q, at most %d", has, asked, newest, most)
			}
			r.rolled(web, 0)
		})
	}
}
