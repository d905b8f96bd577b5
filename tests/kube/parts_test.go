package kube

import (
	"os"
	"strings"
	"testing"
)

// TestEveryVersion: the node is of the same Kubernetes as the control plane, and an older one has parts of its own.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	root, err := testsDir()
	if err != nil {
		t.Fatal(err)
	}
	newest, key, err := controlPlane(pinned).cacheKey(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := node.cacheKey(root); err != nil || got != newest {
		t.Errorf("the node is of %+v, the control plane of %+v: %v", got, newest, err)
	}
	if older, other, err := controlPlane("kube/parts/v1.33").cacheKey(root); err != nil || other == key || older.minor != "33" {
		t.Errorf("v1.33 pins %+v, with the key %s: %v", older, other, err)
	}
}

// TestOtherVersions: tests do not run on another Kubernetes than the one that was asked for.
func TestOtherVersions(t *testing.T) {
	t.Setenv("KUBE_VERSION", "1.30")
	if _, err := Parts(t.Context(), os.Stderr); err == nil || !strings.Contains(err.Error(), "cannot be built for KUBE_VERSION=1.30") {
		t.Errorf("KUBE_VERSION=1.30 gives %v", err)
	}
	t.Setenv("KUBE_VERSION", "1.33")
	if _, err := NodeParts(t.Context(), os.Stderr); err == nil || !strings.Contains(err.Error(), "cannot be built for KUBE_VERSION=1.33") {
		t.Errorf("a node of 1.33 gives %v", err)
	}
}

// TestSumSamples: a test that wants no audit errors would pass where the sum is not taken.
func TestSumSamples(t *testing.T) {
	t.Parallel()
	const text = `# TYPE errors_total counter
errors_total{plugin="webhook",code="1"} 2
errors_total{plugin="webhook",code="2"} 3e+00
errors_total{plugin="buffered",code="1"} 10
errors_total_of_others 100
plain 7
plain`
	for asked, want := range map[string]float64{
		"errors_total": 15, `errors_total plugin="webhook"`: 5, `errors_total plugin="webhook" code="2"`: 3, "absent_total": 0, "plain": 7,
	} {
		words := strings.Fields(asked)
		if got, err := SumSamples(text, words[0], words[1:]); err != nil || got != want {
			t.Errorf("%s: got %v (%v), want %v", asked, got, err, want)
		}
	}
}
