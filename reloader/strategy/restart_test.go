package strategy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func TestRestartWritesTheSecondAfterTheNewestChange(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		marks  []strategy.Mark
		want   string
	}{
		"within a second": {"rounded up", []strategy.Mark{{Config: cm("c"), Value: hashA, At: noon.Add(time.Millisecond)}}, "2026-11-20T12:00:01Z"},
		"a whole second": {
			"a pod of that very second may be the older one", []strategy.Mark{{Config: cm("c"), Value: hashA, At: noon}}, "2026-11-20T12:00:01Z",
		},
		"several": {
			"the newest counts", []strategy.Mark{{Config: cm("c"), At: noon}, {Config: sec("s"), At: noon.Add(1500 * time.Millisecond)}}, "2026-11-20T12:00:02Z",
		},
		"elsewhere": {
			"in UTC", []strategy.Mark{{Config: cm("c"), At: noon.In(time.FixedZone("", 3600))}}, "2026-11-20T12:00:01Z",
		},
	}
	w := stripped(t, deployment())
	for name, c := range cases {
		ops, err := strategy.Restart.Patch(w, c.marks)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]strategy.Op{{Op: "add", Path: "/spec/restartAt", Value: c.want}}, ops); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
	if ops, err := strategy.Restart.Patch(w, nil); err != nil || len(ops) != 0 {
		t.Errorf("without marks: %v, %v", ops, err)
	}
}

func TestRestartIsNoMarkOfContent(t *testing.T) {
	w := stripped(t, deployment(env(1, "STAKATER_C_CONFIGMAP", hashA)))
	if value, found := strategy.Restart.Current(w, cm("c")); found || value != "" {
		t.Errorf("Current = %q, %v", value, found)
	}
}

func TestRestartNeedsNoContainer(t *testing.T) {
	w := &workload.Workload{Kind: "Rollout"}
	if ops, err := strategy.Restart.Patch(w, []strategy.Mark{{Config: cm("c"), At: changed}}); err != nil || len(ops) != 1 {
		t.Errorf("Patch = %v, %v", ops, err)
	}
}

func TestTarget(t *testing.T) {
	rollout := &workload.Workload{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Kind: "Rollout"}
	via := stripped(t, deployment())
	joined := rollout.Through(via)
	for _, s := range strategy.All {
		if got := s.Target(joined); got != via {
			t.Errorf("%s writes to %s, want the object with the template", s.Name, got.Ref())
		}
		if got := s.Target(rollout); got != rollout {
			t.Errorf("%s writes to %s, want the workload", s.Name, got.Ref())
		}
	}
	if got := strategy.Restart.Target(joined); got != joined {
		t.Errorf("restart writes to %s, want the Rollout itself", got.Ref())
	}
}

func TestMarksOfACronJobGoIntoItsJobTemplate(t *testing.T) {
	w := stripped(t, deployment(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "only"}}
	}))
	w.Template.Path = "/spec/jobTemplate/spec/template"
	for s, want := range map[*strategy.Strategy]string{
		&strategy.EnvVars:     "/spec/jobTemplate/spec/template/spec/containers/0/env",
		&strategy.Annotations: "/spec/jobTemplate/spec/template/metadata/annotations/reloader.stakater.com~1last-reloaded-from",
	} {
		ops, err := s.Patch(w, []strategy.Mark{{Config: cm("c"), Value: hashA, At: changed}})
		if err != nil || len(ops) == 0 || ops[len(ops)-1].Path != want {
			t.Errorf("%s: %v, %v; want the last at %s", s.Name, ops, err, want)
		}
	}
}
