package reloader_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/reloader"
)

func TestConfigValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		config reloader.Config
		valid  bool
	}{
		"configmap":      {"an ordinary name", reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: "app"}, true},
		"nameless":       {"a hint about a whole namespace", reloader.Config{Kind: reloader.Secret, Namespace: "ns"}, true},
		"no kind":        {"the kind is part of the subject", reloader.Config{Namespace: "ns", Name: "app"}, false},
		"other kind":     {"pods are no configs", reloader.Config{Kind: "Pod", Namespace: "ns", Name: "app"}, false},
		"no namespace":   {"configs are namespaced", reloader.Config{Kind: reloader.Secret, Name: "app"}, false},
		"namespace, dot": {"a namespace is one label", reloader.Config{Kind: reloader.Secret, Namespace: "a.b", Name: "app"}, false},
		"name, length":   {"one too many", reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: strings.Repeat("a", 254)}, false},
		"wildcard":       {"would subscribe to everything", reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: ">"}, false},
		"newline":        {"$ must not forgive it", reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: "app\n"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.config.Validate()
			if (err == nil) != c.valid {
				t.Errorf("%s: Validate() = %v, want valid %v", c.reason, err, c.valid)
			}
			if err != nil && !errors.Is(err, reloader.ErrInvalidName) {
				t.Errorf("%v does not wrap ErrInvalidName", err)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

// TestEveryKindHasContent: the API server or a report has the content in some field. Keys of a digest start with its name and a dot.
func TestEveryKindHasContent(t *testing.T) {
	for _, of := range reloader.ConfigKindTable {
		if len(of.Content) == 0 {
			t.Errorf("%s has no content fields", of.Kind)
		}
		for _, field := range of.Content {
			if field == "" || field == "metadata" || strings.Contains(field, ".") {
				t.Errorf("%s: %q cannot be a field that holds content", of.Kind, field)
			}
		}
	}
}

func TestWorkloadRefValidate(t *testing.T) {
	good := reloader.WorkloadRef{Kind: "Deployment", Namespace: "ns", Name: "app.v1"}
	if err := good.Validate(); err != nil {
		t.Errorf("Validate(%s) = %v", good, err)
	}
	for name, bad := range map[string]reloader.WorkloadRef{
		"no kind":       {Namespace: "ns", Name: "app"},
		"long kind":     {Kind: strings.Repeat("K", 64), Namespace: "ns", Name: "app"},
		"no namespace":  {Kind: "Deployment", Name: "app"},
		"no name":       {Kind: "Deployment", Namespace: "ns"},
		"wildcard name": {Kind: "Deployment", Namespace: "ns", Name: "*"},
	} {
		if err := bad.Validate(); !errors.Is(err, reloader.ErrInvalidName) {
			t.Errorf("%s: Validate() = %v, want ErrInvalidName", name, err)
		}
	}
}

// FuzzNames: what is taken for a name is what Kubernetes takes for one.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "a", "-", "a-", "-a", "a.b", "a..b", ".a", "a.", "A", "a\n", "ü", "kube-root-ca.crt", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "aa"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got, want := reloader.ValidateCluster(name) == nil, len(validation.IsDNS1123Label(name)) == 0; got != want {
			t.Errorf("%q is a label: %t, want %t", name, got, want)
		}
		c := reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: name}
		if got, want := c.Validate() == nil, name == "" || len(validation.IsDNS1123Subdomain(name)) == 0; got != want {
			t.Errorf("%q is a name: %t, want %t", name, got, want)
		}
	})
}
