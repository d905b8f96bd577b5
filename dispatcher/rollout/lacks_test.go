package rollout_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func of(kind reloader.ConfigKind, name string) reloader.Config {
	return reloader.Config{Kind: kind, Namespace: "shop", Name: name}
}

func cm(name string) reloader.Config     { return of(reloader.ConfigMap, name) }
func secret(name string) reloader.Config { return of(reloader.Secret, name) }

// dependencies are those of a workload, and references those of its template.
type (
	dependencies = map[reloader.Config]rollout.Dependency
	references   = map[reloader.Config]*workload.Reference
)

var (
	there   = rollout.Dependency{Named: true, Clause: "list", Shown: true, Looked: true, Keys: []string{"token", "user"}}
	absent  = rollout.Dependency{Named: true, Clause: "list", Shown: true, Looked: true, Absent: true}
	hidden  = rollout.Dependency{Named: true, Clause: "list"}
	unread  = rollout.Dependency{Named: true, Clause: "list", Shown: true, Looked: true, Unread: true}
	unknown = rollout.Dependency{Named: true, Clause: "list", Shown: true}
	matched = rollout.Dependency{Clause: "list", Shown: true, Looked: true, Absent: true}
)

// with returns d as another annotation names it.
func with(d rollout.Dependency, clause string) rollout.Dependency {
	d.Clause = clause
	return d
}

func TestLacks(t *testing.T) {
	required, optional := &workload.Reference{Required: true}, &workload.Reference{Optional: true}
	for name, c := range map[string]struct {
		reason       string
		dependencies dependencies
		references   references
		want         []reloader.Missing
	}{
		"nothing": {"it depends on nothing", nil, nil, nil},
		"there":   {"it exists", dependencies{cm("a"): there}, references{cm("a"): required}, nil},
		"required": {
			"no pod starts without it",
			dependencies{cm("a"): absent},
			references{cm("a"): required},
			[]reloader.Missing{{Config: cm("a"), Required: true}},
		},
		"optional":     {"pods start without it", dependencies{cm("a"): absent}, references{cm("a"): optional}, nil},
		"listed alone": {"it never changes", dependencies{cm("a"): absent}, nil, []reloader.Missing{{Config: cm("a")}}},
		"neither": {
			"a volume that no container mounts", dependencies{cm("a"): absent}, references{cm("a"): {}}, []reloader.Missing{{Config: cm("a")}},
		},
		"matched by a pattern": {"it may come", dependencies{cm("a"): matched}, nil, nil},
		"not looked for yet":   {"nothing is known", dependencies{cm("a"): unknown}, nil, nil},
		"left unread":          {"its keys are not known", dependencies{cm("a"): unread}, references{cm("a"): {Required: true, RequiredKeys: []string{"x"}}}, nil},
		"of another cluster":   {"its owner answers for it", dependencies{{Cluster: "c1", Kind: reloader.ConfigMap, Namespace: "shop", Name: "a"}: absent}, nil, nil},
		"an external store":    {"its content is not in the cluster", dependencies{of(reloader.SecretProviderClass, "a"): absent}, nil, nil},
		"a key": {
			"no pod starts without it",
			dependencies{secret("a"): there},
			references{secret("a"): {Required: true, RequiredKeys: []string{"tokn", "user"}}},
			[]reloader.Missing{{Config: secret("a"), Keys: []string{"tokn"}, Meant: "token, which it has", Required: true}},
		},
		"a key like no other": {
			"nothing is near",
			dependencies{secret("a"): there},
			references{secret("a"): {Required: true, RequiredKeys: []string{"password"}}},
			[]reloader.Missing{{Config: secret("a"), Keys: []string{"password"}, Required: true}},
		},
		"a misspelt name": {
			"the template uses another one",
			dependencies{secret("api-pasword"): absent, secret("api-password"): there},
			references{secret("api-password"): required},
			[]reloader.Missing{{Config: secret("api-pasword"), Meant: "api-password, which the pod template uses"}},
		},
		"a misspelt name of another that is absent": {
			"it helps nobody",
			dependencies{secret("api-pasword"): absent, secret("api-password"): absent},
			references{secret("api-password"): required},
			[]reloader.Missing{{Config: secret("api-password"), Required: true}, {Config: secret("api-pasword")}},
		},
		"another kind": {
			"the template uses the Secret",
			dependencies{cm("a"): absent},
			references{secret("a"): required},
			[]reloader.Missing{{Config: cm("a"), Meant: "the Secret of that name, which the pod template uses"}},
		},
		"of another namespace": {
			"names of this one say nothing of that one",
			dependencies{{Kind: reloader.Secret, Namespace: "other", Name: "api-pasword"}: absent},
			references{secret("api-password"): required},
			[]reloader.Missing{{Config: reloader.Config{Kind: reloader.Secret, Namespace: "other", Name: "api-pasword"}}},
		},
		"a twin that is there":        {"the list means the Secret", dependencies{cm("a"): absent, secret("a"): there}, nil, nil},
		"a twin that is absent":       {"one of the two is missing", dependencies{cm("a"): absent, secret("a"): absent}, nil, []reloader.Missing{{Config: cm("a")}}},
		"a twin of another list":      {"each list means its own", dependencies{cm("a"): absent, secret("a"): with(there, "other")}, nil, []reloader.Missing{{Config: cm("a")}}},
		"a twin not looked for yet":   {"nothing is known of it", dependencies{cm("a"): absent, secret("a"): unknown}, nil, []reloader.Missing{{Config: cm("a")}}},
		"not shown":                   {"that it may be missing is all it may know", dependencies{cm("a"): hidden}, nil, []reloader.Missing{{Config: cm("a")}}},
		"not shown, and used":         {"whether pods need it is not said", dependencies{cm("a"): hidden}, references{cm("a"): required}, []reloader.Missing{{Config: cm("a")}}},
		"not shown, with a twin":      {"the list means the Secret", dependencies{cm("a"): hidden, secret("a"): there}, nil, nil},
		"not shown, used, and a twin": {"pods name this one", dependencies{cm("a"): hidden, secret("a"): there}, references{cm("a"): required}, []reloader.Missing{{Config: cm("a")}}},
		"two that are not shown":      {"one of the two is named", dependencies{cm("a"): hidden, secret("a"): hidden}, nil, []reloader.Missing{{Config: cm("a")}}},
		"required, with a twin":       {"pods need this one", dependencies{cm("a"): absent, secret("a"): there}, references{cm("a"): required}, []reloader.Missing{{Config: cm("a"), Required: true}}},
		"in the order of their names": {"a record has one order", dependencies{cm("b"): absent, cm("a"): absent}, nil, []reloader.Missing{{Config: cm("a")}, {Config: cm("b")}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rollout.Lacks(rollout.Workload{Namespace: "shop", Dependencies: c.dependencies, References: c.references})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("missing (-want +got), because %s:\n%s", c.reason, d)
			}
		})
	}
}

// TestLacksAwaited: a workload that waits for what its pods require waits for nothing else.
func TestLacksAwaited(t *testing.T) {
	w := rollout.Workload{
		Namespace: "shop", Awaits: true,
		Dependencies: dependencies{cm("a"): absent, cm("b"): absent}, References: references{cm("a"): {Required: true}},
	}
	want := []reloader.Missing{{Config: cm("a"), Required: true, Awaited: true}, {Config: cm("b")}}
	if d := cmp.Diff(want, rollout.Lacks(w)); d != "" {
		t.Errorf("missing (-want +got):\n%s", d)
	}
}

// TestLacksMany: a record names the first ones.
func TestLacksMany(t *testing.T) {
	all := dependencies{}
	for i := range 30 {
		all[cm(fmt.Sprintf("c%02d", i))] = absent
	}
	if got := rollout.Lacks(rollout.Workload{Namespace: "shop", Dependencies: all}); len(got) != 20 || got[19].Config != cm("c19") {
		t.Errorf("%d are named, the last of them %+v", len(got), got[len(got)-1])
	}
}
