package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestScopeOfNamespaces(t *testing.T) {
	team := labels.SelectorFromSet(labels.Set{"team": "a"})
	cases := map[string]struct {
		reason     string
		scope      Scope
		namespaces []string
		selects    bool
		fields     string
	}{
		"all":     {"the zero value", Scope{}, []string{""}, false, ""},
		"named":   {"one by one, and each once", Scope{Namespaces: []string{"b", "a", "b"}}, []string{"a", "b"}, false, ""},
		"ignored": {"the API server leaves them out", Scope{IgnoredNamespaces: []string{"a", "b"}}, []string{""}, false, "metadata.namespace!=a,metadata.namespace!=b"},
		"labels":  {"by their labels", Scope{NamespaceSelector: team}, []string{""}, true, ""},
		"no labels": {
			"an empty selector selects all", Scope{NamespaceSelector: labels.Everything()}, []string{""}, false, "",
		},
		"both": {"one does not take from the other", Scope{IgnoredNamespaces: []string{"a"}, NamespaceSelector: team}, []string{""}, true, "metadata.namespace!=a"},
		"all three": {
			"names win", Scope{Namespaces: []string{"a"}, IgnoredNamespaces: []string{"a"}, NamespaceSelector: team}, []string{"a"}, false, "",
		},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.namespaces, c.scope.namespaces()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
		var o metav1.ListOptions
		if c.scope.narrow(&o); o.FieldSelector != c.fields || c.scope.selects() != c.selects {
			t.Errorf("%s: fields %q, selects %t: %s", name, o.FieldSelector, c.scope.selects(), c.reason)
		}
	}
}

func TestLookEvery(t *testing.T) {
	if got := (Scope{}).lookEvery(); got != 30*time.Second {
		t.Errorf("default %s", got)
	}
	if got := (Scope{LookEvery: time.Second}).lookEvery(); got != time.Second {
		t.Errorf("chosen %s", got)
	}
}
