package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func TestParseRequest(t *testing.T) {
	for text, want := range map[string]dialect.Request{
		"POST :web/-/reload":        {Method: "POST", Port: "web", Path: "/-/reload"},
		"PUT :9090/":                {Method: "PUT", Port: "9090", Path: "/"},
		"GET :a-1/x?config=a%20b&c": {Method: "GET", Port: "a-1", Path: "/x?config=a%20b&c"},
		"":                          {}, "POST": {}, "POST web/x": {}, "post :web/x": {}, "DELETE :web/x": {}, "POST  :web/x": {}, "POST :web": {},
		"POST :/x": {}, "POST :0/x": {}, "POST :065/x": {}, "POST :65536/x": {}, "POST :a_b/x": {}, "POST :Web/x": {}, "POST :a123456789012345/x": {},
		"POST http://other/x": {}, "POST ://other/x": {}, "POST :web//other/x": {}, "POST :web/a/../b": {}, "POST :web/%2e%2e/b": {}, "POST :web/..": {},
		"POST :web/a b": {}, "POST :web/a\r\nHost: b": {}, "POST :web/a\x00": {}, "POST :web/a#b": {}, `POST :web/\\b`: {}, "POST :web/ü": {}, "POST :web/%zz": {},
		"POST :web/" + strings.Repeat("a", 1024): {},
	} {
		if got, err := dialect.ParseRequest(text); got != want || (err == nil) != (want.Path != "") {
			t.Errorf("%.60q: %+v, %v", text, got, err)
		}
	}
}

// TestHot: the annotations of one strategy are read together. If one of them has a fault, the workload says so and rolls as any other.
func TestHot(t *testing.T) {
	http := dialect.Hot{Strategy: "http", Reload: dialect.Request{Method: "POST", Port: "web", Path: "/-/reload"}, Fallback: true}
	with := func(h dialect.Hot, edit func(*dialect.Hot)) *dialect.Hot { edit(&h); return &h }
	for name, c := range map[string]struct {
		on      map[string]string
		want    *dialect.Hot
		problem string
	}{
		"http":           {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload"}, &http, ""},
		"http, asked no": {map[string]string{"strategy": "http"}, nil, "reroll.dev/strategy: http needs reroll.dev/http-reload; the installation's strategy applies"},
		"bad request":    {map[string]string{"strategy": "http", "http-reload": "reload"}, nil, "reroll.dev/http-reload: it is not a request such as"},
		"all of http": {
			map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-verify": "GET :web/metrics a_total", "http-secret": "key", "http-fallback": "none"},
			with(http, func(h *dialect.Hot) {
				h.Verify, h.Metric, h.Secret, h.Fallback = dialect.Request{Method: "GET", Port: "web", Path: "/metrics"}, "a_total", "key", false
			}), "",
		},
		"proof of a version": {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-verify": "GET :web/v"}, with(http, func(h *dialect.Hot) {
			h.Verify = dialect.Request{Method: "GET", Port: "web", Path: "/v"}
		}), ""},
		"proof by POST":  {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-verify": "POST :web/v"}, nil, "http-verify: it does not start with GET"},
		"a bad metric":   {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-verify": "GET :web/v a-b"}, nil, `"a-b" is not the name of a metric`},
		"a bad secret":   {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-secret": "../key"}, nil, "is not the name of a Secret"},
		"a bad fallback": {map[string]string{"strategy": "http", "http-reload": "POST :web/-/reload", "http-fallback": "no"}, nil, `"no" is not valid: the only value is none; the workload rolls by the installation's strategy`},
		"refresh":        {map[string]string{"strategy": "refresh", "http-fallback": "none"}, &dialect.Hot{Strategy: "refresh"}, ""},
		"a key of another strategy": {
			map[string]string{"strategy": "refresh", "http-reload": "POST :web/x"},
			&dialect.Hot{Strategy: "refresh", Fallback: true}, "reroll.dev/http-reload: it needs reroll.dev/strategy: http",
		},
		"exec": {
			map[string]string{"strategy": "exec", "exec-reload": `["nginx","-s","reload"]`},
			&dialect.Hot{Strategy: "exec", Command: []string{"nginx", "-s", "reload"}, Container: "main", Fallback: true}, "",
		},
		"exec elsewhere":     {map[string]string{"strategy": "exec", "exec-reload": `["a"]`, "exec-container": "b"}, nil, `"b" is not a container of the pod template`},
		"exec, no list":      {map[string]string{"strategy": "exec", "exec-reload": "nginx -s reload"}, nil, "it is not a list of words in JSON"},
		"exec in one of two": {map[string]string{"strategy": "exec", "exec-reload": `["a"]`}, nil, "exec needs reroll.dev/exec-container"},
		"exec of nothing":    {map[string]string{"strategy": "exec"}, nil, "exec needs reroll.dev/exec-reload"},
	} {
		on := annotations{"reroll.dev/auto": "true"}
		for key, value := range c.on {
			on["reroll.dev/"+key] = value
		}
		w := ofKind("Deployment", on)
		w.Template.Containers = []workload.Container{{Name: "main"}, {Name: "side"}}[:1]
		if name == "exec in one of two" {
			w.Template.Containers = w.Template.Containers[:2]
		}
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		if diff := cmp.Diff(c.want, plan.Chosen.Hot); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if said := strings.Join(plan.Problems, "\n"); !strings.Contains(said, c.problem) || (said == "") != (c.problem == "") || len(plan.Problems) > 1 {
			t.Errorf("%s: problems %q, want %q", name, plan.Problems, c.problem)
		}
	}
}

// TestRestarts: running pods of every kind that keeps its pods see a mounted config; where they do not, the words say why.
func TestRestarts(t *testing.T) {
	for want, c := range map[string]struct {
		kind string
		use  reloader.Use
	}{
		"": {"DaemonSet", reloader.Use{How: workload.UseVolume, Container: "main"}}, "pods of a CronJob are not asked": {"CronJob", reloader.Use{}},
		"is mounted by no container":                                  {"Deployment", reloader.Use{How: workload.UseVolume}},
		"is used as csiVolume":                                        {"Deployment", reloader.Use{How: workload.UseCSIVolume, Container: "main"}},
		"its changes; but reroll.dev/http-fallback forbids a restart": {"StatefulSet", reloader.Use{How: "env", Container: "main"}},
	} {
		w := ofKind(c.kind, annotations{"reroll.dev/auto": "true", "reroll.dev/strategy": "refresh"})
		if c.kind == "StatefulSet" {
			w.Annotations["reroll.dev/http-fallback"] = "none"
		}
		w.Template.References.Set(cm("c"), &workload.Reference{Uses: []reloader.Use{c.use}})
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		if got := plan.Restarts(cm("c"), true, false); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s, %+v: %q, want %q", c.kind, c.use, got, want)
		}
	}
}
