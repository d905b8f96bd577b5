package reloader_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func forwardedCluster() reloader.ClusterStatus {
	s := wholeCluster
	s.Forward = &reloader.Forwarding{
		At:        at.Add(time.Hour),
		Positions: map[reloader.RecordKind]reloader.Position{reloader.ChangeRecords: {Stream: "s-1", Sequence: 7, Behind: 2}},
		Gaps:      []reloader.Gap{{Kind: reloader.ReloadRecords, Why: reloader.GapAgedOut, Records: 3, After: 5, At: at}},
	}
	return s
}

// TestGoldenForwarding: what a hub has beside the status of a cluster. The status of before is read as ever: see TestGolden.
func TestGoldenForwarding(t *testing.T) {
	golden(t, "cluster-forward", forwardedCluster())
}

// TestGoldenAsked: of whom a cluster follows configs.
func TestGoldenAsked(t *testing.T) {
	s := forwardedCluster()
	s.Forward.Asked = map[string]time.Time{"c1": at}
	golden(t, "cluster-asked", s)
}

// TestGoldenWithdrawn: a hub that has lost what it had.
func TestGoldenWithdrawn(t *testing.T) {
	s := forwardedCluster()
	s.Forward.Positions[reloader.ReloadRecords] = reloader.Position{Stream: "s-2", Sequence: 3, Withdrawn: 9}
	golden(t, "cluster-withdrawn", s)
}

func TestGapsAreJoinedAndBounded(t *testing.T) {
	var f reloader.Forwarding
	hole := reloader.Gap{Kind: reloader.ChangeRecords, Why: reloader.GapAgedOut, Records: 2, After: 5, At: at}
	f = f.WithGap(hole)
	hole.After, hole.At = 9, at.Add(time.Second)
	f = f.WithGap(hole)
	want := []reloader.Gap{{Kind: reloader.ChangeRecords, Why: reloader.GapAgedOut, Records: 4, After: 5, At: at}}
	if diff := cmp.Diff(want, f.Gaps); diff != "" {
		t.Error(diff)
	}
	for n := range 100 {
		f = f.WithGap(reloader.Gap{Kind: reloader.ChangeRecords, Why: reloader.GapStreamRemade, After: uint64(n), At: at})
	}
	if n := len(f.Gaps); n != 16 || f.Gaps[n-1].After != 99 {
		t.Errorf("%d gaps, the last after %d", n, f.Gaps[n-1].After)
	}
}
