package cli

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// shelf is a cluster of one namespace, with ConfigMaps that were written at noon.
type shelf struct {
	workloads []*workload.Workload
	data      map[string]map[string]string
	// started is when the pods of all workloads have started; zero if there are none. secretsHidden says that Secrets may not be listed.
	started       time.Time
	secretsHidden bool
	// hidden are the resources that may not be listed, and contents counts the contents that were read.
	hidden   []string
	contents int
}

func (s *shelf) Workloads(_ context.Context, visit func(*workload.Workload) error) (hidden []string, err error) {
	for _, w := range s.workloads {
		if err := visit(w); err != nil {
			return nil, err
		}
	}
	return s.hidden, nil
}

func (s *shelf) Meta(_ context.Context, c reloader.Config) (live.Meta, error) {
	if _, ok := s.data[c.Name]; !ok || c.Kind != reloader.ConfigMap {
		return live.Meta{}, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, c.Name)
	}
	return live.Meta{UID: "u", ResourceVersion: "1", DataWritten: now}, nil
}

func (s *shelf) Get(ctx context.Context, c reloader.Config) (live.Object, error) {
	s.contents++
	meta, err := s.Meta(ctx, c)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: s.data[c.Name]}
	return live.Object{Meta: meta, Content: digest.OfConfigMap(cm)}, err
}

func (s *shelf) List(_ context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error) {
	if kind == reloader.Secret && s.secretsHidden {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
	}
	found := map[reloader.Config]live.Meta{}
	for name := range s.data {
		if kind == reloader.ConfigMap {
			found[reloader.Config{Kind: kind, Namespace: namespace, Name: name}] = live.Meta{UID: "u", ResourceVersion: "1", DataWritten: now}
		}
	}
	return found, nil
}

func (s *shelf) Pods(context.Context, *workload.Workload) (workload.Pods, error) {
	pods := workload.Pods{Known: true}
	if !s.started.IsZero() {
		pods.Of = []workload.Pod{{Current: true, Containers: []workload.Start{{Name: "main", At: s.started}}}}
	}
	return pods, nil
}

// add puts a Deployment on the shelf that takes its environment from the ConfigMap app, and has Stakater's mark for a value of a.
func (s *shelf) add(t *testing.T, name, marked string, annotations ...string) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		d.Annotations[annotations[i]] = annotations[i+1]
	}
	main := corev1.Container{Name: "main", EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}},
	}}
	if marked != "" {
		main.Env = []corev1.EnvVar{{Name: "STAKATER_APP_CONFIGMAP", Value: fmt.Sprintf("%x", sha1.Sum([]byte("a="+marked)))}}
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{main}
	w, err := workload.Deployment.Strip(d, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	s.workloads = append(s.workloads, w)
}

const stakaterAuto = "reloader.stakater.com/auto"

// census takes one with flags.
func (s *shelf) census(t *testing.T, args ...string) *census {
	t.Helper()
	q := &migrateFlags{globals: &globals{}}
	f := pflag.NewFlagSet("migrate", pflag.ContinueOnError)
	q.settings.BindFile(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	v, err := q.view()
	if err != nil {
		t.Fatal(err)
	}
	c := newCensus(s, v)
	if err := c.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCensus(t *testing.T) {
	s := &shelf{data: map[string]map[string]string{"app": {"a": "2"}}}
	s.add(t, "plain", "")
	s.add(t, "missed", "1", stakaterAuto, "true")
	s.add(t, "current", "2", stakaterAuto, "true")
	s.add(t, "clash", "", stakaterAuto, "true", "wave.pusher.com/update-on-config-change", "true")
	s.add(t, "typo", "", "configmap.reloader.stakater.com/reload", "appp")
	c := s.census(t)
	if diff := c.summary(); diff != (summary{Workloads: 4, Rolls: 1, Conflicts: 1, Typos: 1}) {
		t.Errorf("it counts %+v", diff)
	}
	var shown bytes.Buffer
	l := newLines(&shown)
	if c.show(l, false); l.err != nil {
		t.Fatal(l.err)
	}
	for _, part := range []string{
		"shop        Deployment/current   stakater        1         rolls nothing\n",
		"shop        Deployment/missed    stakater        1         rolls it once\n",
		"✗ shop/Deployment/missed: rolls once: its stakater mark differs from the present content of ConfigMap/app\n",
		"! shop/Deployment/clash: Conflict: the annotations of stakater and wave ask for rolls",
		"! shop/Deployment/typo: Typo: configmap.reloader.stakater.com/reload names ConfigMap/appp, which does not exist\n    → did you mean app?\n",
		"4 workloads; the first start rolls 1 of them. Workloads with conflicts: 1, with typos: 1, with remains of another tool: 0. Workloads that could not be examined: 0\n",
	} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("it does not say %q:\n%s", part, shown.String())
		}
	}
	for name, c := range map[string]*census{"one": c, "none": (&shelf{}).census(t)} {
		if body, err := json.Marshal(c.answer().body); err != nil || strings.Contains(string(body), "null") || !strings.Contains(string(body), `"items":[`) {
			t.Errorf("%s: programs read %s: %v", name, body, err)
		}
	}
	if s.contents != 2 {
		t.Errorf("%d contents are read, want those for the two marks", s.contents)
	}
}

// TestCensusHasTheSettings: what the settings say about annotations counts.
func TestCensusHasTheSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		args       []string
		mark       string
		annotation string
		workloads  int
		rolls      int
	}{
		"another key":       {[]string{"--set=reload.annotationKeys.auto=example.com/auto"}, "1", "example.com/auto=true", 1, 1},
		"a kind is ignored": {[]string{"--set=scope.resourcesToIgnore=configmaps"}, "1", stakaterAuto + "=true", 1, 0},
	} {
		s := &shelf{data: map[string]map[string]string{"app": {"a": "2"}}}
		key, value, _ := strings.Cut(tc.annotation, "=")
		s.add(t, "web", tc.mark, key, value)
		if got := s.census(t, tc.args...).summary(); got.Workloads != tc.workloads || got.Rolls != tc.rolls {
			t.Errorf("%s: %+v, want %d workloads, of which %d roll", name, got, tc.workloads, tc.rolls)
		}
	}
}

// TestCensusWithoutLists: who may not list something is told what that hides.
func TestCensusWithoutLists(t *testing.T) {
	s := &shelf{data: map[string]map[string]string{"app": {"a": "2"}}, secretsHidden: true, hidden: []string{"jobs"}}
	s.add(t, "one", "", stakaterAuto, "true")
	s.add(t, "two", "", stakaterAuto, "true")
	if c := s.census(t); len(c.warnings) != 2 || len(c.reports) != 2 {
		t.Errorf("%d reports, and the warnings %q", len(c.reports), c.warnings)
	}
}
