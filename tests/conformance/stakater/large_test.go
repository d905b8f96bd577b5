//go:build nightly

package stakater_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// oneName is oneEdit with a named list, so that nothing but the list reloads.
var oneName = strings.Replace(oneEdit, `reloader.stakater.com/auto: "true"`, "configmap.reloader.stakater.com/reload: app", 1)

// TestLargeList: a named list as large as the API server takes is not read, which an Event on its workload says, and hurts nobody else.
func TestLargeList(t *testing.T) {
	p := withFlags(t, nil)
	list := strings.Repeat("no-such-config-([a-z]+|[0-9]*), ", 7000) + "app"
	w := p.play(t, oneName)
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{"configmap.reloader.stakater.com/reload":%q}}}`, list)
	if _, err := w.Patch(t.Context(), "Deployment/web", scenario.PatchTypes["merge"], body); err != nil {
		t.Fatal(err)
	}
	p.play(t, oneEdit)
	awaitEvent(t, w, "Deployment/web", "is not read")
	before, err := w.Generation(t.Context(), "Deployment/web")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Patch(t.Context(), "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := w.Generation(t.Context(), "Deployment/web"); err != nil || after != before {
		t.Errorf("it rolled %d times, %v; want never", after-before, err)
	}
}

// awaitEvent waits until there is a warning about an object whose message has a text.
func awaitEvent(t *testing.T, w scenario.Looker, ref scenario.Ref, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		events, err := w.Look(ctx, scenario.Sight{Events: ref})
		if err != nil {
			return err
		}
		told, err := json.Marshal(events)
		if err == nil && !strings.Contains(string(told), text) {
			err = errors.New("no Event says that it " + text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

const pausePeriod, pausedAt = "deployment.reloader.stakater.com/pause-period", "deployment.reloader.stakater.com/paused-at"

// TestPauseIsNotExtended: a change in the middle of a pause is marked, and leaves the time at which the pause began as it is.
func TestPauseIsNotExtended(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneEdit)
	since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"2h",%q:%q}},"spec":{"paused":true}}`, pausePeriod, pausedAt, since)
	if _, err := w.Patch(t.Context(), "Deployment/web", scenario.PatchTypes["merge"], body); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Patch(t.Context(), "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	template, err := w.Template(t.Context(), "Deployment/web")
	if err != nil {
		t.Fatal(err)
	}
	expectVariable(t, "Deployment/web", template, 0, theirName("app", "CONFIGMAP"), scenario.StakaterHash("a=3"))
	found, err := w.Look(t.Context(), scenario.Sight{Object: "Deployment/web"})
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(told), fmt.Sprintf(`%q:%q`, pausedAt, since)) || !strings.Contains(string(told), `"paused":true`) {
		t.Errorf("after a change in a pause since %s it is %s", since, told)
	}
}
