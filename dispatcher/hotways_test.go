package dispatcher_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
			r.edits("2")
			r.pass(time.Hour)
			r.held(reloader.ReasonReloadFailed)
			r.have("1", 0)
			r.ended(once(reloader.ReasonReloadFailed))
		},
		"no running pod": func(t *testing.T, w *world) {
			r := w.run()
			r.workload("web", never, mounts, 0)
			r.settled()
			r.edits("2")
			r.pass(quiet)
			r.ended(once(reloader.ReasonCalled))
		},
		"its pods fail": func(t *testing.T, w *world) {
			r := w.run()
			configure := w.configure
			w.configure = func(o *dispatcher.Options) { configure(o); o.HaltOnFailedRollouts = true }
			for _, name := range []string{"web", "next", "last"} {
				r.workload(name, never, mounts, 1)
			}
			r.settled()
			r.answers(func(p *runner, _ string) ([]byte, error) {
				if r.files(p) == "bad" {
					return nil, errors.New("status 500")
				}
				return nil, nil
			})
			asked := func() (all int) {
				for _, name := range []string{"web", "next", "last"} {
					_, times := r.reads(name)
					all += times[0]
				}
				return all
			}
			r.edits("bad")
			r.pass(30 * time.Minute)
			failed, halted := 0, 0
			for _, name := range []string{"web", "next", "last"} {
				record, _ := r.store.recordOf(webNamed(name))
				switch record.Hold.Reason {
				case reloader.ReasonReloadFailed:
					failed++
				case reloader.ReasonHalted:
					halted++
				}
			}
			if n := asked(); failed != 1 || halted != 2 || n != 0 {
				t.Errorf("%d failed, %d halted, %d calls answered", failed, halted, n)
			}
			r.edits("good")
			r.pass(20 * time.Minute)
			if n := asked(); n != 6 {
				t.Errorf("%d calls answered after the correction, want two for each workload", n)
			}
			r.ended(r.outcomes(webRef))
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
		r.edits("2")
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

// TestHotReloadStrategies: each asks in its own way, and proof is asked for where it can be had.
func TestHotReloadStrategies(t *testing.T) {
	grows := 0
	for name, c := range map[string]struct {
		annotations string
		answer      func(r *runners) func(p *runner, path string) ([]byte, error)
		outcome     reloader.Reason
		after       time.Duration
		asked       int
		call        string
	}{
		"refresh": {`reroll.dev/strategy: refresh`, nil, reloader.ReasonRefreshed, 5 * time.Second, 0, ""},
		"exec":    {`reroll.dev/strategy: exec, reroll.dev/exec-reload: '["nginx", "-s", "reload"]'`, nil, reloader.ReasonCalled, 2 * time.Minute, 2, "pod-1 POST :main/[nginx -s reload]"},
		"token":   {`reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r", reroll.dev/http-token: key`, nil, reloader.ReasonCalled, 2 * time.Minute, 2, "pod-1 POST main/key:80/r"},
		"version": {`reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r", reroll.dev/http-verify: "GET :80/v"`, func(r *runners) func(*runner, string) ([]byte, error) {
			return func(*runner, string) ([]byte, error) {
				obj, _ := r.read(app)
				return []byte("version " + obj.GetResourceVersion() + "."), nil
			}
		}, reloader.ReasonVerified, 5 * time.Second, 0, "pod-1 GET :80/v"},
		"version that never comes": {`reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r", reroll.dev/http-verify: "GET :80/v"`, func(r *runners) func(*runner, string) ([]byte, error) {
			return func(*runner, string) ([]byte, error) {
				obj, _ := r.read(app)
				return []byte("version 1" + obj.GetResourceVersion()), nil
			}
		}, reloader.ReasonReloaded, 3 * time.Minute, 7, "pod-1 GET :80/v"},
		"metric": {`reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r", reroll.dev/http-verify: "GET :80/metrics reloads_total"`, func(*runners) func(*runner, string) ([]byte, error) {
			return func(_ *runner, path string) ([]byte, error) {
				if path == "/r" {
					grows++
				}
				return fmt.Appendf(nil, "reloads_total_more 7\nreloads_total{a=\"b\"} %d\n", grows), nil
			}
		}, reloader.ReasonVerified, 2 * time.Minute, 2, "pod-1 GET :80/metrics"},
		"metric that stays": {`reroll.dev/strategy: http, reroll.dev/http-reload: "POST :80/r", reroll.dev/http-verify: "GET :80/metrics reloads_total"`, func(*runners) func(*runner, string) ([]byte, error) {
			return func(*runner, string) ([]byte, error) { return []byte("reloads_total 3 1700000000\n"), nil }
		}, reloader.ReasonReloaded, 3 * time.Minute, 8, "pod-1 GET :80/metrics"},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			r := w.run()
			r.workload("web", `reroll.dev/auto: "true", `+c.annotations, mounts, 1)
			r.settled()
			if c.answer != nil {
				r.answers(c.answer(r))
			}
			r.edits("2")
			r.pass(c.after)
			r.ended(once(c.outcome))
			_, asked := r.reads("web")
			if asked[0] != c.asked || c.call != "" && !slices.Contains(r.calls, c.call) {
				t.Errorf("asked %v, calls %q", asked, r.calls)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
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
			random, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2)) // pods have their own
			r := w.run()
			r.lag = time.Duration(random.IntN(20)) * time.Second
			r.workload("web", hotHTTP, mounts, 3)
			r.settled()
			r.answers(func(*runner, string) ([]byte, error) {
				if luck.IntN(5) == 0 {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			})
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
					r.edits(fmt.Sprint(random.IntN(3)))
					most += 2
				}
				r.pass(time.Duration(random.IntN(60_000)) * time.Millisecond)
			}
			r.answers(func(*runner, string) ([]byte, error) { return nil, nil })
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
