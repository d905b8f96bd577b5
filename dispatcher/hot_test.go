package dispatcher_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// ended fails the test unless web was reloaded that often with each outcome, and rolled as often as it was Reloaded.
func (r *runners) ended(want map[reloader.Reason]int) (last reloader.Reload) {
	r.t.Helper()
	if got := r.outcomes(webRef); !maps.Equal(got, want) {
		r.t.Errorf("outcomes %v, want %v", got, want)
	}
	r.rolled(web, int64(want[reloader.ReasonReloaded]))
	if all := r.store.reloadsOf(webRef); len(all) > 0 {
		return all[len(all)-1]
	}
	return last
}

func once(reason reloader.Reason) map[reloader.Reason]int { return map[reloader.Reason]int{reason: 1} }

// hot gives a world running pods of web, and a dispatcher that has seen them.
func (w *world) hot(annotations string, pods int) *runners {
	r := w.run()
	r.workload("web", annotations, mounts, pods)
	r.settled()
	return r
}

// halfway is hot, and an edit for which each pod was asked once.
func (w *world) halfway(pods int) *runners {
	r := w.hot(hotHTTP, pods)
	r.edits("2", 5*time.Second)
	r.have("2", slices.Repeat([]int{1}, pods)...)
	return r
}

// TestHotReload: running pods take new content without a restart: each is asked when its kubelet was made to refresh the files, and once more when every
// kubelet has. Only then it is on record.
func TestHotReload(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"two calls for each pod": func(t *testing.T, w *world) {
			r := w.halfway(2)
			if hold := r.held(reloader.ReasonReloading); !strings.Contains(hold.Message, "2 of 2 pods") || hold.Due.Sub(hold.Since) < 80*time.Second {
				t.Errorf("hold %+v", hold)
			}
			r.ended(nil)
			r.pass(quiet)
			r.have("2", 2, 2)
			r.held("")
			last := r.ended(once(reloader.ReasonCalled))
			if last.Pods == nil || last.Pods.Asked != 2 || last.Pods.Answered != 2 || last.Pods.Failed != 0 || last.Strategy != "http" || len(last.Causes) != 1 {
				t.Errorf("reload %+v of pods %+v", last, last.Pods)
			}
			r.successor()
			r.have("2", 2, 2)
		},
		"content that changes meanwhile, and goes back": func(t *testing.T, w *world) {
			r := w.hot(hotHTTP, 1)
			for i, value := range []string{"2", "3", "1"} {
				r.edits(value, 30*time.Second)
				r.have(value, i+1)
			}
			r.pass(quiet)
			r.have("1", 4)
			r.ended(once(reloader.ReasonCalled))
		},
		"a process that ends between the calls": func(t *testing.T, w *world) {
			r := w.halfway(1)
			r.successor()
			r.have("2", 3)
			r.ended(once(reloader.ReasonCalled))
			r.edits("3", 5*time.Second)
			r.stop()
			r.edits("2", time.Minute) // it is what the last reload has noted, and not what the pod has
			r.settled()
			r.have("2", 6)
			r.ended(map[reloader.Reason]int{reloader.ReasonCalled: 2})
		},
		// A process that ends then leaves no trace of the calls.
		"a ledger that cannot be written": func(t *testing.T, w *world) {
			r := w.hot(hotHTTP, 1)
			w.ledger.lose(nil, errLost)
			r.edits("2", time.Minute)
			r.have("1", 0)
			w.ledger.lose(nil, nil)
			r.pass(quiet)
			r.have("2", 2)
		},
		"a freeze meanwhile": func(t *testing.T, w *world) {
			r := w.halfway(1)
			r.running[0].SetControl(control.Parse(map[string]string{control.Key: "freeze: {reason: an incident}"}))
			r.pass(quiet)
			r.held(reloader.ReasonFrozen)
			r.have("2", 1)
			r.running[0].SetControl(control.Control{})
			r.pass(quiet)
			r.have("2", 2)
			r.ended(once(reloader.ReasonCalled))
		},
		"a pod that starts with the content": func(t *testing.T, w *world) {
			r := w.halfway(1)
			r.begin("web")
			r.pass(quiet)
			r.have("2", 2, 0)
			r.ended(once(reloader.ReasonCalled))
		},
		"a request restarts": func(t *testing.T, w *world) {
			r := w.hot(hotHTTP, 1)
			r.must(r.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/requested":"now"}}}`)))
			r.pass(quiet)
			r.have("1", 0)
			r.ended(once(reloader.ReasonReloaded))
		},
	})
}

// TestHotReloadWaits: what holds back a roll holds back a reload of running pods. None is touched or asked before, and then all edits are one reload.
func TestHotReloadWaits(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, control string
		hold, outcome        reloader.Reason
		has                  string
		asked                int
	}{
		"pause":   {hotHTTP, `pauses: [{until: "2000-01-01T01:00:00Z"}]`, reloader.ReasonPausedByOperator, reloader.ReasonCalled, "3", 2},
		"windows": {hotExec, `windows: ["CRON_TZ=UTC 0 1 * * * 1h"]`, reloader.ReasonOutsideWindow, reloader.ReasonCalled, "3", 2},
		"a window of its own": {
			`reroll.dev/auto: "true", reroll.dev/strategy: refresh, reroll.dev/maintenance-window: CRON_TZ=UTC 0 1 * * * 1h`, "",
			reloader.ReasonOutsideWindow, reloader.ReasonRefreshed, "1", 0,
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.control = control.Parse(map[string]string{control.Key: c.control})
			r := w.hot(c.annotations, 1)
			r.edits("2", quiet)
			r.edits("3", quiet)
			ends := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
			r.pass(time.Until(ends) - time.Second)
			r.have("1", 0)
			if hold, touched := r.held(c.hold), r.counted("refresh"); !hold.Due.Equal(ends) || touched > 0 {
				t.Errorf("%d pods were touched; hold %+v", touched, hold)
			}
			r.pass(5 * time.Second)
			r.have(c.has, c.asked/2)
			r.pass(time.Hour)
			r.have(c.has, c.asked)
			r.held("")
			if last, touched := r.ended(once(c.outcome)), r.counted("refresh"); len(last.Causes) != 2 || touched != 1 {
				t.Errorf("%d pods were touched; reload %+v", touched, last)
			}
		})
	}
}

// TestHotReloadsRestart: where running pods cannot take new content, the workload rolls, says why, and said so before.
func TestHotReloadsRestart(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, spec string
		pods              int
		prepare           func(r *runners)
		why               string
		before            bool
	}{
		"variable":       {hotHTTP, `{containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}`, 1, nil, "is used as envFrom", true},
		"variable, too":  {hotHTTP, `{volumes: [{name: v, configMap: {name: app}}], containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}], env: [{name: A, valueFrom: {configMapKeyRef: {name: app, key: a}}}]}]}`, 1, nil, "is used as env", true},
		"subPath":        {hotHTTP, `{volumes: [{name: v, configMap: {name: app}}], containers: [{name: main, volumeMounts: [{name: v, mountPath: /v/a, subPath: a}]}]}`, 1, nil, "subPath", true},
		"init container": {hotHTTP, `{volumes: [{name: v, configMap: {name: app}}], containers: [{name: main}], initContainers: [{name: first, volumeMounts: [{name: v, mountPath: /v}]}]}`, 1, nil, "init container first", true},
		"host network":   {hotHTTP, strings.Replace(mounts, "{", "{hostNetwork: true, ", 1), 1, nil, "its pods use the host network", true},
		"not referred":   {hotHTTP + `, reroll.dev/configmaps: app`, `{containers: [{name: main}]}`, 1, nil, "does not refer to ConfigMap/", true},
		"not allowed":    {hotHTTP, mounts, 1, func(r *runners) { r.configure = nil }, "hotReload.enabled is off", true},
		"exec not allowed": {hotExec, mounts, 1, func(r *runners) {
			r.configure = func(o *dispatcher.Options) { o.Pods, o.Caller = r, r }
		}, "hotReload.exec is off", true},
		"no running pod": {hotHTTP, mounts, 0, nil, "no pod of it runs", false},
		"a config made after the pods": {hotHTTP, mounts, 1, func(r *runners) {
			r.act = func() { r.must(r.delete(alice, app)); r.give("app", "2") }
		}, "was created after pod pod-1 started", false},
		"a pod that refuses":    {hotHTTP, mounts, 2, func(r *runners) { r.fails("pod-2", refusal(true)) }, "pod pod-2: answered no", false},
		"a Secret that is gone": {hotHTTP + `, reroll.dev/http-secret: gone`, mounts, 1, nil, `pod pod-1: its credentials cannot be read: secrets "gone" not found`, false},
		"a pod that fails":      {hotHTTP, mounts, 2, func(r *runners) { r.fails("pod-1", errors.New("status 500")) }, "pod pod-1: status 500", false},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			r := w.run()
			r.workload("web", c.annotations, c.spec, c.pods)
			if c.prepare != nil {
				c.prepare(r)
			}
			r.settled()
			if record, _ := r.store.recordOf(webRef); strings.Contains(record.Edges[0].Restarts, c.why) != c.before {
				t.Errorf("it says before: %q", record.Edges[0].Restarts)
			}
			r.act()
			r.pass(2 * quiet)
			if last := r.ended(once(reloader.ReasonReloaded)); !strings.Contains(last.Message, c.why) || last.Strategy == "http" {
				t.Errorf("strategy %s: %s", last.Strategy, last.Message)
			}
			r.held("")
			if _, asked := r.reads("web"); c.before && slices.Max(asked) > 0 {
				t.Error("a pod was asked all the same")
			}
		})
	}
}
