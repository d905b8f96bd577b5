package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
)

// TestOneClusterTellsOfForwarding: at a hub it is told how far the cluster's records have come, and what is missing; elsewhere nothing.
func TestOneClusterTellsOfForwarding(t *testing.T) {
	gaps := []view.Gap{
		{Records: "changes", Reason: "AgedOut", Missing: 12, At: now.Add(-time.Hour)},
		{Records: "reloads", Reason: "StreamRemade", At: now.Add(-2 * time.Hour)},
	}
	cases := map[string]struct {
		reason  string
		forward *view.Forward
		want    string
	}{
		"no hub":   {"there is nothing to tell", nil, ""},
		"all here": {"none is on its way", &view.Forward{At: now.Add(-20 * time.Second)}, "  forwarding to this hub: 0 records to come, told 20s ago\n"},
		"behind":   {"some are", &view.Forward{At: now.Add(-20 * time.Second), Behind: 1}, "  forwarding to this hub: 1 record to come, told 20s ago\n"},
		"gaps": {
			"each is told", &view.Forward{At: now.Add(-5 * time.Minute), Behind: 7, Gaps: gaps},
			"  forwarding to this hub: 7 records to come, told 5m ago\n  ! up to 12 changes are missing here: AgedOut, found 60m ago\n  ! some reloads are missing here: StreamRemade, found 120m ago\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			writeCluster(newLines(&out, false), view.Cluster{Name: "c1", Health: view.Healthy, Forward: tc.forward}, now)
			_, said, _ := strings.Cut(out.String(), "drift 0\n")
			if said != tc.want {
				t.Errorf("%s: told %q, want %q", tc.reason, said, tc.want)
			}
		})
	}
}
