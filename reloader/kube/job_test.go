package kube

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// object reads a file of testdata/job as an object.
func object(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "job", file))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestCleaned(t *testing.T) {
	cases := map[string]struct{ reason, live, want string }{
		"generated selector": {
			"what the API server wrote goes; the owner and fields of newer API servers stay", "live.yaml", "cleaned.yaml",
		},
		"manual selector": {"labels and selector are the author's", "live-manual.yaml", "cleaned-manual.yaml"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			live := object(t, test.live)
			before := live.DeepCopy()
			if diff := cmp.Diff(object(t, test.want).Object, cleaned(live).Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(before.Object, live.Object); diff != "" {
				t.Errorf("the live object was changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManifestSecret pins the bytes of the Secret: another version may have to go on from it. They are never edited.
func TestManifestSecret(t *testing.T) {
	m := manifest{
		job: object(t, "cleaned.yaml"), uid: "11-22", version: "33", kept: time.Date(2026, time.November, 22, 20, 0, 0, 0, time.UTC),
	}
	secret, err := m.secret("reroll-system")
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "job", "manifest.v1.yaml"))
	if err != nil {
		t.Fatalf("%v; it would be:\n%s", err, got)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the Secret is written differently now (-want +got):\n%s", diff)
	}
	stored := &corev1.Secret{}
	if err := yaml.Unmarshal(want, stored); err != nil {
		t.Fatal(err)
	}
	read, err := parseManifest(stored)
	if err != nil || read.uid != m.uid || read.version != m.version || !read.kept.Equal(m.kept) {
		t.Errorf("the Secret is read differently now: %s, %s: %v", read.uid, read.version, err)
	}
	if diff := cmp.Diff(m.job.Object, read.job.Object); diff != "" {
		t.Errorf("the Secret is read differently now (-want +got):\n%s", diff)
	}
}

func TestManifestIsRefused(t *testing.T) {
	const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"hunter2"}}`
	secret := func(name, data string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "own"},
			Data:       map[string][]byte{manifestJob: []byte(data), manifestUID: []byte("u")},
		}
	}
	if _, err := parseManifest(secret("reroll-job-u", job)); err != nil {
		t.Fatalf("the cases start from what is accepted: %v", err)
	}
	cases := map[string]struct {
		reason string
		secret *corev1.Secret
	}{
		"empty":          {"nothing can be made of it", secret("reroll-job-u", "")},
		"cut":            {"half a manifest is none", secret("reroll-job-u", job[:40])},
		"another kind":   {"Reroll makes no other objects", secret("reroll-job-u", strings.ReplaceAll(job, `"Job"`, `"Pod"`))},
		"another's name": {"the name says whose it is", secret("reroll-job-v", job)},
	}
	for name, test := range cases {
		_, err := parseManifest(test.secret)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; %s, and its content stays where it is", name, err, test.reason)
		}
	}
}

func TestManifestLargerThanASecretIsRefusedForGood(t *testing.T) {
	m := manifest{job: object(t, "cleaned.yaml"), uid: "11-22"}
	encoded, err := json.Marshal(m.job.Object)
	if err != nil {
		t.Fatal(err)
	}
	m.version = strings.Repeat("x", corev1.MaxSecretSize-sha256.Size-len(encoded)-len(m.uid)-len("2026-11-22T20:00:00Z"))
	if _, err := m.secret("own"); err != nil {
		t.Errorf("as large as a Secret may be: %v", err)
	}
	m.version += "x"
	if _, err := m.secret("own"); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("larger by one byte: %v", err)
	}
}

func TestFinished(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status string) []any {
		return []any{map[string]any{"type": string(kind), "status": status}}
	}
	cases := map[string]struct {
		reason     string
		conditions []any
		want       bool
	}{
		"running":           {"it has no conditions yet", nil, false},
		"suspended":         {"it can be resumed", condition(batchv1.JobSuspended, "True"), false},
		"complete":          {"it is done", condition(batchv1.JobComplete, "True"), true},
		"failed":            {"it has given up", condition(batchv1.JobFailed, "True"), true},
		"about to complete": {"its last pods end", condition(batchv1.JobSuccessCriteriaMet, "True"), true},
		"about to fail":     {"its last pods end", condition(batchv1.JobFailureTarget, "True"), true},
		"not failed":        {"the condition does not hold", condition(batchv1.JobFailed, "False"), false},
	}
	for name, test := range cases {
		job := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": test.conditions}}}
		if got := finished(job); got != test.want {
			t.Errorf("%s: %v, want %v: %s", name, got, test.want, test.reason)
		}
	}
}

func TestApplied(t *testing.T) {
	job := object(t, "live.yaml")
	env := func(name string) []mark.Mark { return []mark.Mark{{Place: mark.Place{Env: name}, Value: "aa11"}} }
	stripped := func(uid types.UID, version string) *workload.Workload {
		data, err := job.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		w, err := workload.Job.Strip(json.RawMessage(data), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		w.UID, w.ResourceVersion = uid, version
		return w
	}
	if err := unstructured.SetNestedSlice(job.Object, []any{map[string]any{"name": "main", "env": []any{
		map[string]any{"name": "STAKATER_FROM_SECRET", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}}},
	}}}, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
	before := job.DeepCopy()
	for name, test := range map[string]struct {
		reason string
		w      *workload.Workload
		marks  []mark.Mark
		want   func(error) bool
	}{
		"as it was read":  {"it has the mark and the reason", stripped("11-22", "77"), env("STAKATER_PRICES_CONFIGMAP"), func(err error) bool { return err == nil }},
		"another one":     {"a stale decision never overwrites", stripped("other", "77"), nil, apierrors.IsConflict},
		"another version": {"a stale decision never overwrites", stripped("11-22", "76"), nil, apierrors.IsConflict},
		"taken":           {"the API server would refuse it, too", stripped("11-22", "77"), env("STAKATER_FROM_SECRET"), apierrors.IsInvalid},
	} {
		got, err := applied(workload.Job, test.w, job, mark.Roll{Hash: "h", Marks: test.marks, Annotations: map[string]any{"reroll.dev/applied": "x"}})
		if !test.want(err) {
			t.Errorf("%s: %v: %s", name, err, test.reason)
		}
		if err == nil && got.GetAnnotations()["reroll.dev/applied"] != "x" {
			t.Errorf("%s: %v", name, got)
		}
		if diff := cmp.Diff(before.Object, job.Object); diff != "" {
			t.Errorf("%s: the object that was read has changed (-want +got):\n%s", name, diff)
		}
	}
}

func TestStamped(t *testing.T) {
	job := object(t, "live.yaml")
	for name, test := range map[string]struct {
		annotations map[string]any
		want        bool
	}{
		"as written":   {map[string]any{"note": "at night", "gone": nil}, true},
		"another roll": {map[string]any{"note": "at night", "reroll.dev/applied": "x"}, false},
		"nothing":      {map[string]any{"gone": nil}, false},
	} {
		if got := stamped(job, mark.Roll{Annotations: test.annotations}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRecreationsBeginOnce(t *testing.T) {
	r := &recreations{}
	if !r.begin("u") || r.begin("u") || !r.begin("v") {
		t.Error("a Job is recreated twice at once, or one keeps another waiting")
	}
	if r.end("u"); !r.begin("u") {
		t.Error("a Job is never recreated again")
	}
}

func TestManifestPrintsNoContent(t *testing.T) {
	m := manifest{job: object(t, "cleaned.yaml")}
	if text := m.String(); text != "Job shop/import" || bytes.Contains([]byte(text), []byte("hunter2")) {
		t.Errorf("%q", text)
	}
}
