package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

const (
	cartPath     = "/api/v1/workloads/local/shop/Deployment/cart"
	settingsPath = "local/shop/ConfigMap/settings"
	passwordPath = "local/shop/Secret/password"
)

// get1 sends a GET that must succeed and returns the record.
func get1[V any](t testing.TB, f *fixture, target string) V {
	t.Helper()
	w := f.get(t, target)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	var v V
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// impactOf returns the impact of CLUSTER/NAMESPACE/KIND/NAME, of all keys if none is named.
func impactOf(t testing.TB, f *fixture, config string, keys ...string) view.Impact {
	t.Helper()
	parts := strings.Split(config, "/")
	body, err := json.Marshal(ImpactQuestion{Configs: []SupposedChange{{Cluster: parts[0], Namespace: parts[1], Kind: parts[2], Name: parts[3], Keys: keys}}})
	if err != nil {
		t.Fatal(err)
	}
	w := f.post(t, "/api/v1/impact", string(body))
	var got view.List[view.Impact]
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Items) != 1 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	return got.Items[0]
}

func TestQuestionsKeepTheirContract(t *testing.T) {
	f := newFixture(t)
	f.populate()
	cases := map[string]struct {
		target string
		code   int
	}{
		"clusters":                    {"/api/v1/clusters", 200},
		"cluster by name":             {"/api/v1/clusters?name=local", 200},
		"clusters by health":          {"/api/v1/clusters?health=Healthy", 200},
		"health not in the list":      {"/api/v1/clusters?health=Fine", 422},
		"explain all":                 {cartPath, 200},
		"explain one":                 {cartPath + "?configKind=Secret&configName=password", 200},
		"explain half a config":       {cartPath + "?configKind=Secret", 422},
		"explain a stranger":          {"/api/v1/workloads/local/shop/Deployment/none?configKind=Secret&configName=password", 404},
		"impact is a path of its own": {"/api/v1/impact", 405},
		"stats":                       {"/api/v1/stats", 200},
		"stats of a span":             {"/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-21T13:00:00Z&buckets=4", 200},
		"stats of a span that ends":   {"/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:00Z", 422},
		"stats of all time":           {"/api/v1/stats?since=0002-01-01T00:00:00Z&until=9999-12-31T23:59:59Z", 422},
		"stats beyond the calendar":   {"/api/v1/stats?until=9999-12-31T23:59:59-23:59", 422},
		"cursor of another listing":   {"/api/v1/clusters?continue=" + encodeCursor(bind("workloads", StateFilter{}), []byte("a")), 400},
		"cursor that is no place":     {"/api/v1/workloads?continue=" + encodeCursor(bind("workloads", StateFilter{}), []byte("a")), 400},
		"self":                        {"/api/v1/self", 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := f.get(t, tc.target); w.Code != tc.code {
				t.Errorf("GET %s: got %d, want %d: %s", tc.target, w.Code, tc.code, w.Body)
			}
		})
	}
}

func TestChangeSaysItAll(t *testing.T) {
	f := newFixture(t)
	f.populate()
	rows := list[view.ChangeRow](t, f, "/api/v1/changes").Items
	if len(rows) != 4 {
		t.Fatalf("%d rows, want one for each change", len(rows))
	}
	waiting, done := rows[0], rows[1]
	if len(waiting.Pending) != 1 || waiting.Pending[0].Workload.Name != "cart" || waiting.Pending[0].Hold.Reason != "Retrying" || len(waiting.Reloads) != 0 {
		t.Errorf("the newest change does not say that cart waits for it: %+v", waiting)
	}
	if len(done.Pending) != 0 || len(done.Reloads) != 1 || done.Reloads[0].Outcome != "Reloaded" || done.Change.Candidates[0].User != "alice" {
		t.Errorf("the change before does not say who, what, which and outcome: %+v", done)
	}
	for query, want := range map[string]int{
		"workloadName=cart": 3, "workloadName=none": 0, "outcome=Reloaded": 3, "outcome=Refused": 0, "user=alice": 4, "user=bob": 0,
		"name=password": 1, "workloadKind=Deployment&name=settings": 3, "limit=2": 2,
	} {
		if got := len(list[view.ChangeRow](t, f, "/api/v1/changes?"+query).Items); got != want {
			t.Errorf("?%s: %d rows, want %d", query, got, want)
		}
	}
}

// TestChangeSaysWhatBecameOfARollout: what is shown live is there also for whoever comes later.
func TestChangeSaysWhatBecameOfARollout(t *testing.T) {
	f := newFixture(t)
	r := aReload(1)
	f.records.AddChange(1, aChange(1))
	f.records.AddReload(1, r)
	r.Rollout = &reloader.Rollout{Result: reloader.ReasonStalled, Message: "its progress deadline is exceeded", StartedAt: r.PatchedAt, EndedAt: r.PatchedAt.Add(time.Minute)}
	f.records.AddReload(2, r)
	row := list[view.ChangeRow](t, f, "/api/v1/changes").Items[0]
	if len(row.Reloads) != 1 || row.Reloads[0].Rollout == nil || row.Reloads[0].Rollout.Result != "Stalled" || row.Reloads[0].Rollout.EndedAt.IsZero() {
		t.Errorf("reloads %+v", row.Reloads)
	}
}

func TestExplain(t *testing.T) {
	f := newFixture(t)
	f.populate()
	fresh := aWorkload("shop", "fresh")
	fresh.Hold, fresh.Edges[0].Handled, fresh.Edges[0].Pending, fresh.Edges[0].Uses = nil, reloader.Handled{}, "", nil
	waiting := aWorkload("shop", "waiting")
	waiting.Hold, waiting.Problems = nil, []string{"bad pattern"}
	f.records.PutWorkload(fresh)
	f.records.PutWorkload(waiting)
	cases := map[string]struct {
		workload, config string
		state            verdict.State
		reason           view.Reason
		steps            string
	}{
		"up to date":    {"cart", "configKind=ConfigMap&configName=settings", verdict.UpToDate, "Reloaded", "OptIn+ Rule+ Use+ Change+ Content+"},
		"held":          {"cart", "configKind=Secret&configName=password", verdict.Held, "Retrying", "OptIn+ Rule+ Use+ Change+ Content! Brakes!"},
		"quiet window":  {"waiting", "configKind=Secret&configName=password", verdict.Pending, "", "OptIn+ Rule+ Use+ Change+ Content! Brakes+"},
		"no baseline":   {"fresh", "configKind=Secret&configName=password", verdict.NoBaseline, "", "OptIn+ Rule+ Use. Change+ Content!"},
		"no dependency": {"cart", "configKind=ConfigMap&configName=other", verdict.NotADependency, "", "OptIn+ Rule!"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := get1[view.Explained](t, f, "/api/v1/workloads/local/shop/Deployment/"+tc.workload+"?"+tc.config).Explanations[0]
			if x.State != view.State(tc.state) || x.Reason != tc.reason {
				t.Errorf("%s because of %q, want %s because of %q", x.State, x.Reason, tc.state, tc.reason)
			}
			marks := map[string]string{"Passed": "+", "Stopped": "!", "Noted": "."}
			var steps []string
			for _, s := range x.Steps {
				steps = append(steps, s.Step+marks[s.Result])
				if s.Message == "" {
					t.Errorf("step %s says nothing", s.Step)
				}
			}
			if diff := cmp.Diff(tc.steps, strings.Join(steps, " ")); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
	if all := get1[view.Explained](t, f, cartPath).Explanations; len(all) != 2 {
		t.Errorf("%d explanations, want one for each dependency", len(all))
	}
	away := aStatus()
	away.At, away.DryRun = time.Now().Add(-time.Hour), true
	f.records.PutCluster(away)
	x := get1[view.Explained](t, f, cartPath+"?configKind=Secret&configName=password")
	if said := fmt.Sprint(x.Explanations[0].Steps); !strings.Contains(said, "no status for 1h") || !strings.Contains(said, "dry run") || len(x.Warnings) != 1 {
		t.Errorf("an absent dispatcher is not told of: %s, warnings %q", said, x.Warnings)
	}
}

func TestImpact(t *testing.T) {
	until := time.Now().Add(time.Hour)
	cases := map[string]struct {
		reason string
		edit   func(*reloader.ClusterStatus, *reloader.WorkloadRecord)
		want   view.Reason
		warned int
	}{
		"rolls":   {"nothing holds it back", func(*reloader.ClusterStatus, *reloader.WorkloadRecord) {}, "Reloaded", 0},
		"dry run": {"nothing is written", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.DryRun = true }, "DryRun", 0},
		"frozen":  {"all are held back", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Freeze.Frozen = true }, "Frozen", 0},
		"thawed since": {"a freeze ends by itself", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Freeze = reloader.Freeze{Frozen: true, Until: start}
		}, "Reloaded", 0},
		"outside windows": {"none is open", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Windows[0].Open = false }, "OutsideWindow", 0},
		"namespace paused": {"the pause selects all", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Pauses = []reloader.Pause{{Namespace: "shop", Until: until}}
		}, "PausedByOperator", 0},
		"another paused": {"the pause is of another namespace", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Pauses = []reloader.Pause{{Namespace: "bank", Until: until}}
		}, "Reloaded", 0},
		"some paused": {"labels are not on record", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Pauses = []reloader.Pause{{Selector: "a=b", Until: until}}
		}, "Reloaded", 1},
		"outside its own windows": {"it says when it rolls", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			opens := time.Now().UTC().Add(2 * time.Hour)
			w.Terms.Windows = []string{fmt.Sprintf("CRON_TZ=UTC %d %d * * * 1h", opens.Minute(), opens.Hour())}
		}, "OutsideWindow", 0},
		"inside its own windows": {"one is open", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Terms.Windows = []string{"CRON_TZ=UTC * * * * * 1h"}
		}, "Reloaded", 0},
		"rolled a moment ago": {"its interval is not over", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Terms.MinInterval, w.Pace.At = 3600, time.Now().Add(-time.Minute)
		}, "TooSoon", 0},
		"rolled long ago": {"its interval is over", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Terms.MinInterval, w.Pace.At = 3600, time.Now().Add(-2*time.Hour)
		}, "Reloaded", 0},
		"lacks another config": {"its pods cannot start", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Missing = []reloader.Missing{{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "gone"}, Awaited: true}}
		}, "MissingConfig", 0},
		"lacks this config": {"the change may be that it comes", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Missing = []reloader.Missing{{Config: w.Edges[0].Config, Awaited: true}}
		}, "Reloaded", 0},
		"lacks a key of it": {"the change may bring any key", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Missing = []reloader.Missing{{Config: w.Edges[0].Config, Keys: []string{"a"}, Awaited: true}}
		}, "Reloaded", 0},
		"dead":                  {"it is refused for good", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Hold.Reason = reloader.ReasonRefused }, "Refused", 0},
		"dead after many tries": {"one more fails as well", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Hold.Reason = reloader.ReasonFailing }, "Failing", 0},
		"dispatcher is away":    {"records may be old", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.At = start.Add(-48 * time.Hour) }, "Reloaded", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := impactWith(t, tc.edit)
			if len(got.Workloads) != 1 || got.Workloads[0].Outcome != tc.want || len(got.Warnings) != tc.warned {
				t.Fatalf("%s: got %+v", tc.reason, got)
			}
			want := map[view.Reason][4]int{"Reloaded": {1}, "DryRun": {0, 0, 0, 1}}[tc.want]
			if want == [4]int{} {
				want = [4]int{0, 1}
			}
			if counted := [4]int{got.Rolls, got.Waits, got.Notified, got.Never}; counted != want {
				t.Errorf("%s: %v roll, wait, are told of and never roll, want %v", tc.reason, counted, want)
			}
		})
	}
}

// impactWith returns the impact of a Secret on one workload, after edit has made the records of both and of their cluster what they are.
func impactWith(t *testing.T, edit func(*reloader.ClusterStatus, *reloader.WorkloadRecord)) view.Impact {
	t.Helper()
	f := newFixture(t)
	f.populate()
	s, w := aStatus(), aWorkload("shop", "cart")
	edit(&s, &w)
	f.records.PutCluster(s)
	f.records.PutWorkload(w)
	return impactOf(t, f, passwordPath)
}

// TestImpactOfMissingKeys: keys that are supposed to change and are not those that are missing let nobody go.
func TestImpactOfMissingKeys(t *testing.T) {
	f := newFixture(t)
	f.populate()
	cart := aWorkload("shop", "cart")
	cart.Missing = []reloader.Missing{{Config: cart.Edges[0].Config, Keys: []string{"a", "b"}, Awaited: true}}
	f.records.PutWorkload(cart)
	for keys, want := range map[string]string{"a,b": "", "a": "of Secret/shop/password these keys are missing: b", "c": "of Secret/shop/password these keys are missing: a, b"} {
		if w := impactOf(t, f, passwordPath, strings.Split(keys, ",")...).Workloads[0]; w.Message != want || (w.Outcome == "Reloaded") != (want == "") {
			t.Errorf("%s: %+v", keys, w)
		}
	}
}

func TestImpactOfKeys(t *testing.T) {
	f := newFixture(t)
	f.populate()
	for keys, want := range map[string]bool{"": true, "level": true, "other": false, "other,level": true} {
		var changed []string
		if keys != "" {
			changed = strings.Split(keys, ",")
		}
		if got := impactOf(t, f, settingsPath, changed...).Workloads; len(got) != 1 || got[0].UsesKeys != want {
			t.Errorf("%s: got %+v, want usesKeys %t", keys, got, want)
		}
	}
}

func TestBulkImpact(t *testing.T) {
	f := newFixture(t)
	f.populate()
	one := `{"cluster":"local","kind":"Secret","namespace":"shop","name":"password","keys":["a"]}`
	w := f.post(t, "/api/v1/impact", `{"configs":[`+one+`,{"cluster":"east","kind":"ConfigMap","namespace":"a","name":"b"}]}`)
	var got view.List[view.Impact]
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || len(got.Items) != 2 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	if got.Items[0].Rolls != 1 || got.Items[1].Rolls != 0 || len(got.Items[1].Warnings) != 1 {
		t.Errorf("want one that rolls, and one of an unknown cluster: %+v", got.Items)
	}
	many := strings.Repeat(one+",", maxImpactConfigs)
	cases := map[string]struct {
		contentType, body string
		code              int
	}{
		"as many as may be": {"application/json", `{"configs":[` + strings.TrimSuffix(many, ",") + `]}`, 200},
		"one too many":      {"application/json", `{"configs":[` + many + one + `]}`, 422},
		"none":              {"application/json", `{"configs":[]}`, 422},
		"no list":           {"application/json", `{}`, 422},
		"no body":           {"application/json", ``, 400},
		"no JSON":           {"application/json", `{"configs":`, 400},
		"no kind of config": {"application/json", strings.Replace(`{"configs":[`+one+`]}`, "Secret", "Pod", 1), 422},
		"another language":  {"application/yaml", `configs: []`, 415},
		"too large":         {"application/json", `{"configs":[` + one + `]` + strings.Repeat(" ", maxImpactBody) + `}`, 413},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/v1/impact", strings.NewReader(tc.body))
			r.Header.Set("Content-Type", tc.contentType)
			w := f.do(t, r)
			if w.Code != tc.code {
				t.Errorf("got %d, want %d: %.300s", w.Code, tc.code, w.Body)
			}
			if tc.code >= 400 {
				checkProblem(t, w)
			}
		})
	}
}
