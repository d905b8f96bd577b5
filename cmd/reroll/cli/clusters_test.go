package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestOneClusterTellsOfForwarding: at a hub, how far the cluster's records have come, and which are missing; elsewhere nothing.
func TestOneClusterTellsOfForwarding(t *testing.T) {
	fresh := reloader.Gap{Why: reloader.GapStreamRemade, At: now.Add(-time.Hour)}
	old := reloader.Gap{Why: reloader.GapAgedOut, Records: 12, At: now.Add(-25 * time.Hour)}
	for name, tc := range map[string]struct {
		positions []reloader.Position
		want      []string
	}{
		"no hub":   {nil, nil},
		"all here": {[]reloader.Position{{At: now.Add(-20 * time.Second)}}, []string{"  forwarding to this hub: 0 records to come, told 20s ago"}},
		"behind":   {[]reloader.Position{{At: now.Add(-20 * time.Second)}, {At: now.Add(-time.Minute), Behind: 1}}, []string{"  forwarding to this hub: 1 record to come, told 20s ago"}},
		"gaps": {[]reloader.Position{{Of: "HISTORY", At: now.Add(-5 * time.Minute), Gaps: []reloader.Gap{old, fresh}}}, []string{
			"  ! Records of the history may be missing here: the cluster lost its own.", "  forwarding to this hub: 0 records to come, told 5m ago",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			status, positions := &reloader.ClusterStatus{Cluster: "c1", At: now, Ready: true}, map[string]reloader.Position{}
			for i, p := range tc.positions {
				positions[fmt.Sprint(i)] = p
			}
			var out bytes.Buffer
			writeCluster(newLines(&out, false), view.FromCluster(&projection.ClusterState{Name: "c1", Status: status, Positions: positions}, now), now)
			var said []string
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "missing") || strings.Contains(line, "forwarding") {
					said = append(said, strings.TrimSuffix(line, "\n"))
				}
			}
			if diff := cmp.Diff(tc.want, said); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClustersTellOfTheLag: in the listing and of one cluster; a cluster without any is not told to have one.
func TestClustersTellOfTheLag(t *testing.T) {
	for name, tc := range map[string]struct {
		status       reloader.ClusterStatus
		column, line string
	}{
		"none":          {reloader.ClusterStatus{}, dash, ""},
		"behind":        {reloader.ClusterStatus{At: now, OldestPendingAt: now.Add(-90500 * time.Millisecond), HintsPending: 1}, "1m30.5s", "  lag 1m30.5s, 1 hint not done"},
		"hints to come": {reloader.ClusterStatus{HintsPending: 212}, dash, "  lag " + dash + ", 212 hints not done"},
	} {
		t.Run(name, func(t *testing.T) {
			shown, cluster := clustersShown(now), view.Cluster{ClusterStatus: tc.status}
			at := slices.IndexFunc(shown.columns, func(c column) bool { return c.name == "LAG" })
			if row := shown.row(cluster); at < 0 || len(row) != len(shown.columns) || row[at].text != tc.column {
				t.Errorf("column %d of %+v, want %q", at, row, tc.column)
			}
			var out bytes.Buffer
			writeCluster(newLines(&out, false), cluster, now)
			var told string
			for line := range strings.Lines(out.String()) {
				if strings.HasPrefix(line, "  lag") {
					told = strings.TrimSuffix(line, "\n")
				}
			}
			if told != tc.line {
				t.Errorf("told %q, want %q", told, tc.line)
			}
		})
	}
}
