package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadEvents(t *testing.T) {
	cases := map[string]struct {
		text string
		want []event
	}{
		"one":               {"id: a-1\nevent: change\ndata: {}\n\n", []event{{"a-1", "change", "{}"}}},
		"without spaces":    {"id:a-1\nevent:change\ndata:{}\n\n", []event{{"a-1", "change", "{}"}}},
		"a beat":            {": still here\n\nevent: reload\ndata: 1\n\n", []event{{"", "reload", "1"}}},
		"lines of data":     {"data: 1\ndata: 2\n\n", []event{{"", "", "1\n2"}}},
		"nothing of before": {"id: 1\nevent: a\ndata: x\n\ndata: y\n\n", []event{{"1", "a", "x"}, {"", "", "y"}}},
		"cut short":         {"id: 1\ndata: x\n", nil},
		"unknown fields":    {"retry: 10\ndata: x\nsomething\n\n", []event{{"", "", "x"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []event
			beats := 0
			err := readEvents(strings.NewReader(c.text), func() { beats++ }, func(e event) error {
				got = append(got, e)
				return nil
			})
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(event{})); diff != "" || err == nil {
				t.Errorf("error %v, events (-want +got):\n%s", err, diff)
			}
			if beats != strings.Count(c.text, "\n") {
				t.Errorf("%d signs of life", beats)
			}
		})
	}
	stop := errors.New("stop")
	if err := readEvents(strings.NewReader("data: 1\n\ndata: 2\n\n"), func() {}, func(event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("it goes on after %v", err)
	}
}

// FuzzReadEvents: whatever a server says, an event has data, and IDs without line breaks.
func FuzzReadEvents(f *testing.F) {
	f.Add("id: a-1\nevent: change\ndata: {}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = readEvents(strings.NewReader(text), func() {}, func(e event) error {
			if strings.Contains(e.id+e.name, "\n") || len(e.data) > len(text) {
				t.Errorf("%+v", e)
			}
			return nil
		})
	})
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]ref{
		"deploy/cart":                {kind: "Deployment", name: "cart"},
		"shop/Deployment/cart":       {namespace: "shop", kind: "Deployment", name: "cart"},
		"east/shop/deployments/cart": {cluster: "east", namespace: "shop", kind: "Deployment", name: "cart"},
		"STS/db":                     {kind: "StatefulSet", name: "db"},
		"ro/x":                       {kind: "Rollout", name: "x"},
	} {
		if got, err := parseRef(text, workloadKinds()); got != want || err != nil {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "cart", "/cart", "deploy/", "a/b/c/d/e", "secret/x", "shop//deploy/cart"} {
		if got, err := parseRef(text, workloadKinds()); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		} else if code, _ := ExitCode(err); code != ExitUsage {
			t.Errorf("%q ends with code %d", text, code)
		}
	}
	if got, err := kindOf("SecretProviderClasses", configKinds()); got != "SecretProviderClass" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// FuzzManifests: whatever stands in a file, only configs with names are found in it, and its content is in no error.
func FuzzManifests(f *testing.F) {
	f.Add("kind: Secret\nmetadata: {name: a, namespace: b}\n---\nkind: List\nitems: [{kind: ConfigMap, metadata: {name: c}}]\n")
	f.Add("a: {")
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := configsIn(strings.NewReader(text))
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		for _, r := range refs {
			if r.name == "" || !slices.Contains(configKinds(), r.kind) {
				t.Errorf("%+v", r)
			}
		}
	})
}
