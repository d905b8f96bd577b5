package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func TestStatusCountsHintsBySource(t *testing.T) {
	s := newStatus()
	if got := s.list(); got != nil {
		t.Errorf("before any hint: %+v", got)
	}
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	for _, h := range []reloader.Hint{
		{Source: reloader.SourceWatch, Received: at(1)},
		{Source: reloader.SourceAudit, Received: at(3)},
		{Source: reloader.SourceAudit, Received: at(2)}, // delivered again
	} {
		s.heard(h)
	}
	want := []reloader.SourceStatus{
		{Source: reloader.SourceAudit, Hints: 2, LastAt: at(3)}, {Source: reloader.SourceWatch, Hints: 1, LastAt: at(1)},
	}
	if diff := cmp.Diff(want, s.list()); diff != "" {
		t.Error(diff)
	}
}
