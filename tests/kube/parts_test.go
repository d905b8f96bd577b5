package kube

import (
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
	if _, err := Parts(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be built for KUBE_VERSION=1.30") {
		t.Errorf("KUBE_VERSION=1.30 gives %v", err)
	}
	t.Setenv("KUBE_VERSION", "1.33")
	if _, err := NodeParts(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be built for KUBE_VERSION=1.33") {
		t.Errorf("a node of 1.33 gives %v", err)
	}
}
