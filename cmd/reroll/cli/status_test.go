package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// hub answers status and the doctor: a page for each list of items, with its warnings.
type hub struct{ clusters, workloads []page }

type page struct {
	items    []any
	warnings []string
}

func (h hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var pages []page
	switch r.URL.Path {
	case "/api/v1/self":
		_, _ = w.Write([]byte(`{"version":"test"}`))
		return
	case "/api/v1/clusters":
		pages = h.clusters
	case "/api/v1/workloads":
		if r.URL.Query().Get("unsettled") == "true" {
			pages = h.workloads
		}
	}
	at := len(r.URL.Query().Get("continue"))
	list := view.List[any]{Items: []any{}}
	if at < len(pages) {
		list.Items, list.Warnings = append(list.Items, pages[at].items...), pages[at].warnings
	}
	if at+1 < len(pages) {
		list.Metadata.Continue = strings.Repeat("x", at+1)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// standing is a cluster that stands like that.
func standing(name string, health verdict.Health) view.Cluster {
	return view.Cluster{ClusterStatus: reloader.ClusterStatus{Cluster: name}, Standing: verdict.Standing{Health: health}}
}

// stands is a workload of a cluster in a state.
func stands(cluster string, state verdict.State) view.Workload {
	return view.Workload{WorkloadRecord: reloader.WorkloadRecord{Cluster: cluster}, Verdict: verdict.Verdict{State: state, NeedsAttention: state.NeedsAttention()}}
}

// command runs one, and returns what it prints, what it warns of, and how it ends.
func command(t *testing.T, cmd *cobra.Command, args ...string) (said, warned string, err error) {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&complaints)
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), complaints.String(), err
}

// TestStatusIsAGate: it ends with "no" if something is known to be wrong, and with "yes" only if all is known.
func TestStatusIsAGate(t *testing.T) {
	const reading, hidden = "The stored records are still being read; some may be missing.", "Workloads of namespaces that you may not look into are left out."
	well, away := page{items: []any{standing("east", verdict.Healthy)}}, page{items: []any{standing("west", verdict.Away)}}
	waits := page{items: []any{stands("east", verdict.Frozen)}}
	dead := page{items: []any{stands("east", verdict.MissingConfig)}}
	warning := func(p page, texts ...string) page { return page{p.items, texts} }
	cases := map[string]struct {
		reason string
		hub    hub
		// code is how status ends, and doctor how the doctor does.
		code, doctor int
		warns        []string
	}{
		"all is well":        {"nothing else is known", hub{[]page{well}, []page{waits}}, ExitDone, ExitDone, nil},
		"a cluster is away":  {"it is known to be", hub{[]page{well, away}, nil}, ExitFailed, ExitFailed, nil},
		"a workload is dead": {"it is known to be", hub{[]page{well}, []page{dead}}, ExitFailed, ExitFailed, nil},
		"held is read":       {"what is dead may be missing", hub{[]page{well}, []page{warning(waits, reading)}}, ExitUnknown, ExitUnknown, []string{reading}},
		"clusters are read":  {"some may be missing", hub{[]page{warning(well, reading)}, nil}, ExitUnknown, ExitUnknown, []string{reading}},
		"no cluster yet":     {"there may be some", hub{[]page{warning(page{}, reading)}, nil}, ExitUnknown, ExitUnknown, []string{reading}},
		"no cluster":         {"nobody reports", hub{}, ExitFailed, ExitFailed, nil},
		"dead all the same":  {"one is enough", hub{[]page{well}, []page{warning(dead, reading)}}, ExitFailed, ExitFailed, []string{reading}},
		"on the first page":  {"what it lacks does not come on the second", hub{[]page{warning(well, reading), well}, []page{warning(waits, hidden, reading), waits}}, ExitUnknown, ExitUnknown, []string{reading, hidden}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.hub)
			defer server.Close()
			_, warned, err := command(t, statusCommand("test"), "--exit-code", "--server", server.URL)
			if code, tell := ExitCode(err); code != tc.code || tell != (tc.code == ExitUnknown) {
				t.Errorf("%s: status ends with code %d, want %d: %v", tc.reason, code, tc.code, err)
			}
			for _, text := range tc.warns {
				if strings.Count(warned, "warning: "+text) != 1 {
					t.Errorf("want %q once among the warnings:\n%s", text, warned)
				}
			}
			if strings.Count(warned, "warning: ") != len(tc.warns) {
				t.Errorf("want %d warnings, got\n%s", len(tc.warns), warned)
			}
			said, _, err := command(t, doctorCommand("test"), "--server", server.URL)
			if code, _ := ExitCode(err); code != tc.doctor {
				t.Errorf("%s: the doctor ends with code %d, want %d: %v\n%s", tc.reason, code, tc.doctor, err, said)
			}
			for _, text := range tc.warns {
				if !strings.Contains(said, "? API: "+text) {
					t.Errorf("the doctor does not say %q:\n%s", text, said)
				}
			}
		})
	}
}

// TestWatchNamesClusters: what an event is about is named with its cluster unless there is only one, as far as that is known.
func TestWatchNamesClusters(t *testing.T) {
	const east, west = `{"cluster":"east","workload":{"kind":"Deployment","namespace":"shop","name":"a"}}`, `{"cluster":"west","workload":{"kind":"Deployment","namespace":"shop","name":"b"}}`
	for name, tc := range map[string]struct {
		clusters string
		want     []string
	}{
		"asked too early":   {`{"items":[{"name":"east"}]}`, []string{" shop/Deployment/a\n", " west/shop/Deployment/b\n", " east/shop/Deployment/a\n"}},
		"one":               {`{"items":[{"name":"east"}]}`, []string{" shop/Deployment/a\n", " west/shop/Deployment/b\n", " east/shop/Deployment/a\n"}},
		"two":               {`{"items":[{"name":"east"},{"name":"west"}]}`, []string{" east/shop/Deployment/a\n", " west/shop/Deployment/b\n", " east/shop/Deployment/a\n"}},
		"nobody may know":   {"", []string{" east/shop/Deployment/a\n", " west/shop/Deployment/b\n", " east/shop/Deployment/a\n"}},
		"none is known yet": {`{"items":[]}`, []string{" shop/Deployment/a\n", " west/shop/Deployment/b\n", " east/shop/Deployment/a\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			early := name == "asked too early"
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/api/v1/events":
					early = false
					_, _ = io.WriteString(w, "event: hello\ndata: {}\n\n")
					w.(http.Flusher).Flush()
					for _, data := range []string{east, west, east} {
						_, _ = io.WriteString(w, "event: workloadGone\ndata: "+data+"\n\n")
					}
				case early:
					w.WriteHeader(http.StatusServiceUnavailable)
				case tc.clusters == "":
					w.WriteHeader(http.StatusForbidden)
				default:
					_, _ = io.WriteString(w, tc.clusters)
				}
			}))
			defer server.Close()
			said, _, err := command(t, watchCommand("test"), "--count", "3", "--types", "workloadGone", "--server", server.URL)
			if err != nil && !errors.Is(err, errEnough) {
				t.Fatal(err)
			}
			for i, line := range strings.SplitAfter(strings.TrimSuffix(said, "\n")+"\n", "\n") {
				if i < len(tc.want) && !strings.HasSuffix(line, "gone     "+tc.want[i]) {
					t.Errorf("line %d is %q, want it to end with %q", i, line, tc.want[i])
				}
			}
			if strings.Count(said, "\n") != len(tc.want) {
				t.Errorf("%d lines are wanted:\n%s", len(tc.want), said)
			}
		})
	}
}

// TestStatusSaysWhoFroze: a freeze is shown with who did it, since when and until when, and a window that never opens is not waited for.
func TestStatusSaysWhoFroze(t *testing.T) {
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	server := httptest.NewServer(hub{clusters: []page{{items: []any{view.Cluster{Standing: verdict.Standing{Health: verdict.Healthy}, ClusterStatus: reloader.ClusterStatus{
		Cluster: "east", Workloads: 4, Windows: []reloader.Window{{Schedule: "0 0 31 2 * 1h"}},
		Freeze: reloader.Freeze{Frozen: true, Reason: "release", By: "carol", Since: at, Until: at.Add(time.Hour)},
	}}}}}, workloads: []page{{items: []any{stands("east", verdict.Frozen)}}}})
	defer server.Close()
	said, _, err := command(t, statusCommand("test"), "--server", server.URL)
	const want = "east ✓ healthy · 4 workloads · 1 waiting\n  Frozen since 2026-01-31T18:00:00Z by carol until 2026-01-31T19:00:00Z: release\n  Window 0 0 31 2 * 1h: closed, never opens\n"
	if err != nil || !strings.HasPrefix(said, want) {
		t.Errorf("%v\n%s\nwant %s", err, said, want)
	}
}
