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

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// TestImpactIsAGate: it ends by what would become of each workload, and who does not know does not let through.
func TestImpactIsAGate(t *testing.T) {
	workload := func(name string, fate verdict.Fate) view.ImpactedWorkload {
		return view.ImpactedWorkload{
			Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: name}, Dependency: reloader.Edge{Why: "Auto"}, UsesKeys: true,
			Fate: fate, Verdict: verdict.Verdict{Message: "It would, or not."},
		}
	}
	rolls, waits, notified, never := workload("web", verdict.RollsNow), workload("db", verdict.RollsLater), workload("bot", verdict.Notified), workload("nightly", verdict.RollsNever)
	follower, neighbour := workload("proxy", verdict.RollsNow), workload("api", verdict.RollsNow)
	follower.Cluster, neighbour.Cluster, neighbour.Workload.Namespace = "west", "local", "bank"
	cases := map[string]struct {
		reason   string
		complete bool
		found    []view.ImpactedWorkload
		code     int
		says     string
		names    string
	}{
		"nobody":          {"all is known", true, nil, ExitDone, "nothing would roll: no opted-in workload asks for it", ""},
		"one rolls":       {"it rolls", true, []view.ImpactedWorkload{rolls}, ExitFailed, "1 would roll, 0 would wait\n", "shop/Deployment/web\n"},
		"one waits":       {"it rolls later", true, []view.ImpactedWorkload{waits}, ExitFailed, "0 would roll, 1 would wait\n", "shop/Deployment/db\n"},
		"one is told of":  {"whoever is called acts", true, []view.ImpactedWorkload{notified}, ExitFailed, "0 would roll, 0 would wait, for 1 a webhook would be called\n", "shop/Deployment/bot\n"},
		"none ever rolls": {"nothing comes of it", true, []view.ImpactedWorkload{never}, ExitDone, ": nothing would roll\n", ""},
		"one of two":      {"the other rolls", true, []view.ImpactedWorkload{never, rolls}, ExitFailed, "1 would roll, 0 would wait, 1 would not roll at all\n", "shop/Deployment/web\n"},
		"a later fate":    {"what is not understood may be a roll", true, []view.ImpactedWorkload{workload("web", "Teleported")}, ExitFailed, "Teleported: It would, or not.", "shop/Deployment/web\n"},
		"elsewhere":       {"it is named in full", true, []view.ImpactedWorkload{follower, neighbour}, ExitFailed, "\n  west/shop/Deployment/proxy  Now: It would, or not.  Auto\n  bank/Deployment/api  Now: ", "west/shop/Deployment/proxy\nbank/Deployment/api\n"},
		"nobody known":    {"there may be others", false, nil, ExitUnknown, "nothing would roll", ""},
		"one known":       {"one is enough", false, []view.ImpactedWorkload{rolls}, ExitFailed, "1 would roll", "shop/Deployment/web\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				impact := view.Impact{Cluster: "local", Config: reloader.Config{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Workloads: tc.found, Complete: tc.complete}
				for _, w := range tc.found {
					switch w.Fate {
					case verdict.RollsNow:
						impact.RollsNow++
					case verdict.RollsLater:
						impact.RollsLater++
					case verdict.Notified:
						impact.NotifiedCount++
					case verdict.RollsNever:
						impact.NeverCount++
					}
				}
				_ = json.NewEncoder(w).Encode(view.List[view.Impact]{Items: []view.Impact{impact}})
			}))
			defer server.Close()
			ask := func(more ...string) (string, error) {
				cmd := impactCommand("test")
				var out bytes.Buffer
				cmd.SetOut(&out)
				cmd.SetErr(io.Discard)
				cmd.SetArgs(append([]string{"local/shop/cm/a", "--exit-code", "--server", server.URL}, more...))
				cmd.SilenceUsage, cmd.SilenceErrors = true, true
				err := cmd.ExecuteContext(t.Context())
				return out.String(), err
			}
			said, err := ask()
			if code, _ := ExitCode(err); code != tc.code || !strings.Contains(said, tc.says) {
				t.Errorf("%s: code %d, want %d: %v\n%swant %q", tc.reason, code, tc.code, err, said, tc.says)
			}
			if tc.code == ExitUnknown && (err == nil || errors.Is(err, errAnswer) || !strings.Contains(err.Error(), "not known")) {
				t.Errorf("nobody is told what is not known: %v", err)
			}
			if names, _ := ask("-o", "name"); names != tc.names {
				t.Errorf("%s: names %q, want %q", tc.reason, names, tc.names)
			}
		})
	}
}
