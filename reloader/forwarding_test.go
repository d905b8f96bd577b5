package reloader_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

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
