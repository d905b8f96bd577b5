package reloader_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestGapsAreJoinedAndBounded: a position stays small, however often records are missing.
func TestGapsAreJoinedAndBounded(t *testing.T) {
	var p reloader.Position
	hole := reloader.Gap{Records: 2, After: 5, At: at}
	p = p.WithGap(hole)
	hole.After, hole.At = 9, at.Add(time.Second)
	p = p.WithGap(hole)
	want := []reloader.Gap{{Records: 4, After: 5, At: at}}
	if diff := cmp.Diff(want, p.Gaps); diff != "" {
		t.Error(diff)
	}
	for n := range 100 {
		p = p.WithGap(reloader.Gap{Lost: true, After: uint64(n), At: at})
	}
	if n := len(p.Gaps); n != 32 || p.Gaps[n-1].After != 99 {
		t.Errorf("%d gaps, the last after %d", n, p.Gaps[n-1].After)
	}
}
