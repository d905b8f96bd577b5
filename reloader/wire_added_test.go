package reloader_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestGoldenUnproven: a change that is not proved says so, and is otherwise written as ever: see TestGolden.
func TestGoldenUnproven(t *testing.T) {
	unproven := wholeChange
	unproven.Old, unproven.Keys, unproven.Unproven = reloader.Digest{}, nil, true
	golden(t, "change-unproven", unproven)
	data, err := os.ReadFile("testdata/wire/change.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reloader.Decode[reloader.Change](data); err != nil || got.Unproven {
		t.Errorf("%v: what does not say so is proved%s", err, cmp.Diff(wholeChange, got))
	}
}

// TestGoldenListed: what is remembered of a look for all that patterns match.
func TestGoldenListed(t *testing.T) {
	listed := wholeWorkload
	listed.ListedAt = at.Add(-time.Minute)
	golden(t, "workload-listed", listed)
}

// TestGoldenUnsaid: what a process did that ended before it could record it.
func TestGoldenUnsaid(t *testing.T) {
	unsaid := wholeWorkload
	unsaid.Edges = slices.Clone(unsaid.Edges)
	unsaid.Edges[0].Handled.Unsaid = "mfrggzdfmztwq2lk"
	golden(t, "workload-unsaid", unsaid)
}
