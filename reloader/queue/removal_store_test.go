package queue

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRemoveEarlierNameFromStore: a cluster that was renamed keeps what it had under its earlier name until somebody has it removed, and what
// it has under the present one stays.
func TestRemoveEarlierNameFromStore(t *testing.T) {
	o := Options{StoreDir: t.TempDir(), Logger: quiet(), MaxStore: testStore}
	q, err := Open(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}
	namedBefore(t, q, "local", 5)
	edit(t, q, "a", 0, 1)
	if err := q.PutClusterStatus(testContext(t), status("blue", "v1")); err != nil {
		t.Fatal(err)
	}
	if _, err := RemoveFromHub(testContext(t), o, Removal{Cluster: "local"}); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is in use: %v", err)
	}
	closeQueue(t, q)
	if steps, err := RemoveFromHub(testContext(t), o, Removal{Cluster: "blue"}); !errors.Is(err, ErrAlive) || len(steps) > 0 {
		t.Errorf("the name that it has now: %v, %v", brief(steps), err)
	}
	steps, err := RemoveFromHub(testContext(t), o, Removal{Cluster: "local"})
	want := []string{
		"changes: 5 removed", "reloads: 0 removed", "records of workloads: 0 removed", "copies of configs and what asks for them: 0 removed",
		"name local: freed",
	}
	if diff := cmp.Diff(want, brief(steps)); diff != "" || err != nil {
		t.Errorf("removing did: %v\n%s", err, diff)
	}
	q = open(t, o)
	left := slices.Collect(maps.Keys(contents(t, q.js, changesStream)))
	if len(left) != 1 || !strings.HasPrefix(left[0], changePrefix+".blue.") {
		t.Errorf("left: %q", left)
	}
	if err := q.BindCluster(testContext(t), "blue", "uid-1"); err != nil {
		t.Error(err)
	}
}
