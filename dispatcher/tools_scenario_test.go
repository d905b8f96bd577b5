package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/conformance/tools"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// stoppable is a world whose dispatcher can be stopped and started by a scenario.
type stoppable struct{ *world }

// Stop ends every dispatcher.
func (s stoppable) Stop(context.Context) error {
	s.stop()
	return nil
}

// Kill ends them as well: what they were about to do is not done.
func (s stoppable) Kill(context.Context) error {
	s.stop()
	return nil
}

// Look returns an object, or the reloads of a workload.
func (s stoppable) Look(_ context.Context, at scenario.Sight) ([]map[string]any, error) {
	var found []any
	if at.Object != "" {
		if obj, there := s.read(at.Object); there {
			found = append(found, obj)
		}
	}
	if at.Reloads != "" {
		kind, namespace, name, err := at.Reloads.Split()
		if err != nil {
			return nil, err
		}
		for _, r := range s.store.reloadsOf(reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}) {
			found = append(found, r)
		}
	}
	data, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	return objects, json.Unmarshal(data, &objects)
}

// refuse keeps dispatchers from writing workloads with the label test/refuse, as the policy of the suite does.
func (w *world) refuse(verb, ref string) error {
	if verb != "patch" {
		return nil
	}
	kind, rest, _ := strings.Cut(ref, "/")
	namespace, name, _ := strings.Cut(rest, "/")
	if obj, there := w.read(scenario.NewRef(kind, namespace, name)); there && obj.GetLabels()["test/refuse"] != "" {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, name, errors.New("this Deployment must not be changed"))
	}
	return nil
}

// Start runs one.
func (s stoppable) Start(context.Context) error {
	s.start()
	return nil
}

// TestToolScenarios runs the cases of the conformance suites of the tools on the fake cluster.
func TestToolScenarios(t *testing.T) {
	cases, err := tools.Cases("../tests/conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		runWorld(t, c.Name, c.Settings, func(t *testing.T, w *world) {
			w.flags(c.Flags)
			w.failing(w.refuse)
			w.start()
			scenario.Run(t.Context(), t, c.Scenario, stoppable{w})
		})
	}
}

// flags gives a world the flags of a case. One that it does not know fails the test, which would show something else without it.
func (w *world) flags(flags []string) {
	w.t.Helper()
	var ignored []reloader.ConfigKind
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--set="), "=")
		switch name {
		case "--resources-to-ignore":
			kind, known := map[string]reloader.ConfigKind{"secrets": reloader.Secret, "configMaps": reloader.ConfigMap}[value]
			if !known {
				w.t.Fatalf("%s names no kind that is known here", flag)
			}
			ignored = append(ignored, kind)
		case "debounce.window":
			window, err := time.ParseDuration(value)
			w.must(err)
			w.configure = func(o *dispatcher.Options) { o.Limits.Window, o.Limits.MaxWait = window, 10*time.Second }
		default:
			w.t.Fatalf("the flag %s is not known here: give the world what it means", flag)
		}
	}
	w.dialects = func(s dialect.Set) dialect.Set { return s.Without(ignored) }
}
