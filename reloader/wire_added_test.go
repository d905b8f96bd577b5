package reloader_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestGoldenTerms: what a workload itself asks for about when it is rolled, and what it lacks.
func TestGoldenTerms(t *testing.T) {
	w := wholeWorkload
	w.Terms = reloader.Terms{
		Windows: []string{"CRON_TZ=UTC 0 22 * * 1-5 6h"}, MinInterval: 600,
	}
	w.Missing = []reloader.Missing{{Config: prices, Required: true}, {Config: prices, Keys: []string{"a"}, Meant: "b, which it has", Awaited: true}}
	w.Unreadable = []reloader.Unreadable{{Config: prices, Message: "forbidden"}, {Message: "a list failed"}}
	golden(t, "workload-terms", w)
	data, err := os.ReadFile("testdata/wire/workload.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reloader.Decode[reloader.WorkloadRecord](data); err != nil || !cmp.Equal(got.Terms, reloader.Terms{}) {
		t.Errorf("%v: who says nothing asks for nothing: %+v", err, got.Terms)
	}
}

// TestGoldenForesight: what tells that a change comes to nothing, or to something else than a roll.
func TestGoldenForesight(t *testing.T) {
	w := wholeWorkload
	w.Terms = reloader.Terms{Dormant: reloader.ReasonSuspended, Keys: "used,*.yaml,!debug*"}
	w.Edges = slices.Clone(w.Edges)
	w.Edges[0].UsedKeys = true
	golden(t, "workload-foresight", w)
	status := wholeCluster
	status.Notifies = true
	golden(t, "cluster-notifies", status)
	data, err := os.ReadFile("testdata/wire/cluster.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reloader.Decode[reloader.ClusterStatus](data); err != nil || got.Notifies {
		t.Errorf("%v: who does not say so calls no webhook: %+v", err, got)
	}
}

// TestGoldenLag: how far a dispatcher is behind. Who does not say so is read as one that is not.
func TestGoldenLag(t *testing.T) {
	status := wholeCluster
	status.OldestPendingAt, status.HintsPending = at.Add(-time.Minute), 41
	golden(t, "cluster-lag", status)
	data, err := os.ReadFile("testdata/wire/cluster.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reloader.Decode[reloader.ClusterStatus](data); err != nil || !got.OldestPendingAt.IsZero() || got.HintsPending != 0 {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestGoldenEphemeral: the records go with the pod.
func TestGoldenEphemeral(t *testing.T) {
	status := wholeCluster
	status.Ephemeral = true
	golden(t, "cluster-ephemeral", status)
}

// TestGoldenNamespace: where the ConfigMap reroll-control is, and a freeze that has ended.
func TestGoldenNamespace(t *testing.T) {
	status := wholeCluster
	status.Namespace, status.Freeze.Frozen = "ops", false
	golden(t, "cluster-namespace", status)
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

// TestGoldenWaits: since when a workload waits for its quiet window.
func TestGoldenWaits(t *testing.T) {
	waits := wholeWorkload
	waits.WaitsSince = at.Add(-4 * time.Second)
	golden(t, "workload-waits", waits)
}

// TestGoldenFollowNumbers: what a target asks with, and what its owner repeats.
func TestGoldenFollowNumbers(t *testing.T) {
	want, told := wholeWant, wholeCopy
	want.Numbers, told.Answers = []uint64{1795323600000000000}, 1795323600000000000
	golden(t, "want-numbers", want)
	golden(t, "copy-answers", told)
	want.Numbers = []uint64{1, 2}
	data, err := reloader.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reloader.Decode[reloader.Want](data); err == nil {
		t.Error("a number for a config that is not asked for is taken")
	}
}

// TestGoldenRequested: a reload that an annotation asked for, and one that was held back.
func TestGoldenRequested(t *testing.T) {
	r := wholeReload
	r.Causes, r.Requested = []reloader.Cause{}, "new certificates"
	golden(t, "reload-requested", r)
	r.HeldBy = reloader.ReasonFrozen
	golden(t, "reload-held", r)
}
