package dispatcher_test

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

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
		"no mark":                        {auto, nil, scenario.Settings{}, nil, "Baseline"},
		"no mark and an edit":            {auto, nil, scenario.Settings{}, []func(*world){edit("2")}, "Baseline"},
		"the mark of the content":        {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, nil, "AlreadyCurrent"},
		"an edit that was missed":        {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){edit("2")}, "Missed"},
		"an edit that was reverted":      {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){edit("2"), edit("1")}, "AlreadyCurrent"},
		"pods that started since":        {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){edit("2"), again}, "PodsNewer"},
		"one hash in all variables":      {fabric8, []string{"FABRIC8_APP_CONFIGMAP", hash("of two")}, scenario.Settings{}, nil, "PodsNewer"},
		"a strategy that does not write": {auto, []string{"STAKATER_APP_CONFIGMAP", hash("0")}, scenario.Settings{Strategy: "annotations"}, []func(*world){edit("2")}, "Baseline"},
		"a mark, and opted in later": {
			"",
			[]string{"STAKATER_APP_CONFIGMAP", hash("1")},
			scenario.Settings{AutoReloadAll: true},
			[]func(*world){edit("2")},
			"Missed",
		},
		"an edit before every workload was opted in": {"", nil, scenario.Settings{AutoReloadAll: true}, []func(*world){edit("2")}, "Baseline"},
		"the config is gone":                         {auto, []string{"STAKATER_APP_CONFIGMAP", hash("1")}, scenario.Settings{}, []func(*world){func(w *world) { w.must(w.delete(alice, app)) }}, "Absent"},
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
			w.stream.forget() // nothing told of writes before Reroll was installed
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
