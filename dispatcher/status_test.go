package dispatcher_test

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestStatus: what a process says of itself, and of what holds back.
func TestStatus(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		window, err := control.ParseWindow("CRON_TZ=UTC 0 22 * * * 6h")
		w.must(err)
		w.braked(turn.Limits{Windows: []control.Window{window}})
		p := w.usually()
		if s := p.Status(); !s.Ready || s.Workloads != 1 || s.Pending != 0 || len(s.Held) > 0 || s.Freeze != nil || s.Notifies || !s.At.Equal(time.Now()) {
			t.Errorf("at rest: %+v", s)
		}
		until, ended := time.Now().Add(48*time.Hour).UTC().Truncate(time.Second), time.Now().Add(-time.Hour).Format(time.RFC3339)
		p.SetControl(control.Parse(map[string]string{
			control.Key: "freeze: {reason: incident 7, until: '" + until.Format(time.RFC3339) + "'}\n" +
				"pauses: [{namespace: shop, selector: 'app=cart', until: '" + until.Format(time.RFC3339) + "', reason: sale}, " +
				"{selector: 'a=b', until: '" + ended + "'}]",
		}))
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		s := p.Status()
		if diff := cmp.Diff(&reloader.Pause{Reason: "incident 7", Until: until}, s.Freeze); diff != "" {
			t.Errorf("freeze (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[reloader.Reason]int{reloader.ReasonFrozen: 1}, s.Held); diff != "" || s.Pending != 1 {
			t.Errorf("%d pending, held (-want +got):\n%s", s.Pending, diff)
		}
		if len(s.Pauses) != 1 || s.Pauses[0].Reason != "sale" || !s.Pauses[0].Until.Equal(until) {
			t.Errorf("want the pause that has not ended: %+v", s.Pauses)
		}
		if s.ControlProblem != "" {
			t.Errorf("problem: %q", s.ControlProblem)
		}
		if len(s.Windows) != 1 || s.Windows[0].Open != window.Open(time.Now()) || !s.Windows[0].Next.Equal(window.Next(time.Now())) {
			t.Errorf("windows: %+v", s.Windows)
		}
		p.SetControl(control.Parse(map[string]string{control.Key: "windows: ['CRON_TZ=UTC 0 3 * * * 1h']"}))
		if s := p.Status(); s.Freeze != nil || s.Pauses != nil || len(s.Windows) != 1 || !strings.Contains(s.Windows[0].Schedule, "0 3") {
			t.Errorf("thawed, and in another window: %+v", s)
		}
		p.SetControl(control.Parse(map[string]string{control.Key: "{"}))
		if s := p.Status(); s.Freeze == nil || s.ControlProblem == "" {
			t.Errorf("what cannot be read freezes nothing: %+v", s)
		}
	})
}

// TestForecastIsWhatTheFirstStartDoes installs Reroll where another tool has left a workload, and compares what migrate says before with what the
// first start rolls.
func TestForecastIsWhatTheFirstStartDoes(t *testing.T) {
	hash := func(value string) string { return fmt.Sprintf("%x", sha1.Sum([]byte("a="+value))) }
	edit := func(value string) func(w *world) { return func(w *world) { w.edit(alice, app, value) } }
	again := func(w *world) {
		w.cluster.started[scenario.NewRef("Deployment", scenario.DefaultNamespace, "web")] = time.Now()
	}
	const fabric8 = "configmap.fabric8.io/update-on-change: app"
	cases := map[string]struct {
		annotations string
		variables   []string
		settings    scenario.Settings
		// then happens after the workload was applied, each a minute after the one before.
		then  []func(w *world)
		state string
	}{
		"the mark of the content":   {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, nil, "AlreadyCurrent"},
		"an edit that was missed":   {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){edit("2")}, "Missed"},
		"pods that started since":   {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){edit("2"), again}, "PodsNewer"},
		"one hash in all variables": {fabric8, []string{"FABRIC8_APP_CONFIGMAP", hash("of two")}, scenario.Settings{}, nil, "PodsNewer"},
		"a mark, and opted in later": {
			"",
			[]string{"STAKATER_APP_CONFIGMAP", hash("1")},
			scenario.Settings{AutoReloadAll: true},
			[]func(*world){edit("2")},
			"Missed",
		},
		"the config is gone": {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){func(w *world) { w.must(w.delete(alice, app)) }}, "Absent"},
	}
	for name, tc := range cases {
		runWorld(t, name, tc.settings, func(t *testing.T, w *world) {
			w.give("app", "1")
			w.pass(time.Minute)
			env := ""
			if len(tc.variables) > 0 {
				env = fmt.Sprintf(`{name: %s, value: %q}`, tc.variables[0], tc.variables[1])
			}
			w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, env: [%s], envFrom: [{configMapRef: {name: app}}]}]}}}`, tc.annotations, env))))
			for _, then := range tc.then {
				w.pass(time.Minute)
				then(w)
			}
			w.pass(time.Minute)
			w.stream.open = nil // no feed reported writes before Reroll was installed
			said := w.forecast()
			if i := slices.IndexFunc(said.Configs, func(f adoption.Forecast) bool { return f.Config == appConfig }); i < 0 || string(said.Configs[i].State) != tc.state {
				t.Errorf("migrate says %+v, want %s", said.Configs, tc.state)
			}
			w.settled()
			rolls := int64(0)
			if said.Rolls {
				rolls = 1
			}
			w.rolled(web, rolls)
			w.stop()
		})
	}
}

// forecast returns what migrate says about web.
func (w *world) forecast() adoption.Report {
	w.t.Helper()
	dialects := dialect.All(dialect.StakaterOptions{AutoReloadAll: w.settings.AutoReloadAll})
	c := client{w.cluster, dialects}
	v := adoption.View{All: dialects, Dialects: dialects, Strategy: w.settings.Strategy, Now: time.Now()}
	if v.Strategy == "" {
		v.Strategy = mark.EnvVars.Name
	}
	found, err := c.Read(w.t.Context(), webRef)
	w.must(err)
	in := adoption.Input{
		Workload: found, Configs: map[reloader.Config]adoption.Known{}, Names: adoption.Names{},
		Pods: func() (workload.Pods, error) { return c.Pods(w.t.Context(), found) },
	}
	configs, _ := v.Wants(found, in.Names)
	for _, config := range configs {
		obj, err := c.Get(w.t.Context(), config)
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Fatal(err)
		}
		in.Configs[config] = adoption.Known{Absent: err != nil, Meta: obj.Meta, Content: obj.Content}
	}
	r, err := v.Report(in)
	w.must(err)
	return r
}
