package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestOneClusterTellsOfForwarding: at a hub it is told how far the cluster's records have come, and what is missing; elsewhere nothing.
func TestOneClusterTellsOfForwarding(t *testing.T) {
	gaps := []view.Gap{
		{Records: "changes", Reason: "AgedOut", Missing: 12, At: now.Add(-25 * time.Hour)},
		{Records: "reloads", Reason: "StreamRemade", At: now.Add(-50 * time.Hour)},
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
			"each old one is told", &view.Forward{At: now.Add(-5 * time.Minute), Behind: 7, Gaps: gaps},
			"  forwarding to this hub: 7 records to come, told 5m ago\n    up to 12 changes may be missing here: AgedOut, found 25h ago\n    some reloads may be missing here: StreamRemade, found 2d2h ago\n",
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

// TestEndedFreeze: a freeze whose time is over holds back nothing, and the answer says so.
func TestEndedFreeze(t *testing.T) {
	status := &reloader.ClusterStatus{Cluster: "c1", At: now, Ready: true, Freeze: reloader.Freeze{Frozen: true, Reason: "sale", Until: now.Add(-time.Hour)}}
	var out bytes.Buffer
	writeBrakes(newLines(&out, false), view.FromCluster(&projection.ClusterState{Name: "c1", Status: status}, now))
	if want := "  Not frozen: the freeze ended at " + exactly(now.Add(-time.Hour)) + ": sale\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestOneClusterTellsOfAGapOnce: a new one is among the problems that the API names, and an old one is history.
func TestOneClusterTellsOfAGapOnce(t *testing.T) {
	fresh := reloader.Gap{Kind: reloader.ReloadRecords, Why: reloader.GapStreamRemade, At: now.Add(-time.Hour)}
	old := reloader.Gap{Kind: reloader.ChangeRecords, Why: reloader.GapAgedOut, Records: 12, At: now.Add(-25 * time.Hour)}
	cases := map[string]struct {
		gaps []reloader.Gap
		want []string
	}{
		"a new one":  {[]reloader.Gap{fresh}, []string{"  ! Some reloads may be missing here: the cluster has lost its own."}},
		"an old one": {[]reloader.Gap{old}, []string{"    up to 12 changes may be missing here: AgedOut, found 25h ago"}},
		"both":       {[]reloader.Gap{old, fresh}, []string{"  ! Some reloads may be missing here: the cluster has lost its own.", "    up to 12 changes may be missing here: AgedOut, found 25h ago"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := &reloader.ClusterStatus{Cluster: "c1", At: now, Ready: true, Forward: &reloader.Forwarding{At: now, Gaps: tc.gaps}}
			var out bytes.Buffer
			writeCluster(newLines(&out, false), view.FromCluster(&projection.ClusterState{Name: "c1", Status: status}, now), now)
			var said []string
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "missing") {
					said = append(said, strings.TrimSuffix(line, "\n"))
				}
			}
			if diff := cmp.Diff(tc.want, said); diff != "" {
				t.Errorf("told of gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClustersTellOfTheLag: in the listing and of one cluster; a cluster without any is not told to have one.
func TestClustersTellOfTheLag(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster      view.Cluster
		column, line string
	}{
		"none":          {view.Cluster{Name: "c1"}, dash, ""},
		"behind":        {view.Cluster{Name: "c1", LagSeconds: 90.5, HintsPending: 1}, "1m30.5s", "  lag 1m30.5s, 1 hint not done"},
		"hints to come": {view.Cluster{Name: "c1", HintsPending: 212}, dash, "  lag " + dash + ", 212 hints not done"},
	} {
		t.Run(name, func(t *testing.T) {
			shown := clustersShown(now)
			at := slices.IndexFunc(shown.columns, func(c column) bool { return c.name == "LAG" })
			if row := shown.row(tc.cluster); at < 0 || len(row) != len(shown.columns) || row[at].text != tc.column {
				t.Errorf("column %d of %+v, want %q", at, row, tc.column)
			}
			var out bytes.Buffer
			writeCluster(newLines(&out, false), tc.cluster, now)
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
