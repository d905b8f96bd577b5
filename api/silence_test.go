package api

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/view"
)

// TestClusterWithoutStatusIsWarnedOf: what is on record of it may be all there is, or what somebody left.
func TestClusterWithoutStatusIsWarnedOf(t *testing.T) {
	f := newFixture(t)
	c := aChange(1)
	c.Cluster = "west"
	f.records.AddChange(1, c)
	f.records.PutCluster(aStatus())
	page := list[view.ChangeRow](t, f, "/api/v1/changes")
	if len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], "Cluster west: No dispatcher") {
		t.Errorf("got %q", page.Warnings)
	}
}
