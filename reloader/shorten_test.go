package reloader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// TestNoRecordIsTooLarge: whatever a tenant does to a config or a workload, what is known of it can be stored, and says what it lacks.
func TestNoRecordIsTooLarge(t *testing.T) {
	change := fits(t, manyKeys(13_000))
	if !change.Shortened || change.New.Sum == "" || change.Keys != nil || change.Candidates != nil {
		t.Errorf("the change is shortened: %t, and its digest is %q", change.Shortened, change.New.Sum)
	}
	reload := fits(t, manyCauses(1000))
	if !reload.Shortened || len(reload.Causes) == 0 {
		t.Errorf("the reload has %d causes and is shortened: %t", len(reload.Causes), reload.Shortened)
	}
	record := fits(t, manyEdges(3000))
	if !record.Shortened || len(record.Edges) < reloader.MaxWireBytes/1000 {
		t.Errorf("the record has %d dependencies and is shortened: %t", len(record.Edges), record.Shortened)
	}
	if problems := strings.Join(record.Problems, "\n"); strings.Count(problems, "too large") != 1 || !strings.HasSuffix(problems, "bad pattern") {
		t.Errorf("the record does not say once that it is too large, beside its problems: %q", problems)
	}
	copied := fits(t, reloader.Copy{Owner: "blue", Target: "green", Config: prices, Change: manyKeys(13_000)})
	if !copied.Change.Shortened {
		t.Error("the copy does not say that it lacks keys")
	}
}

// fits encodes r and returns what can be read of that. It must not change what r refers to.
func fits[R reloader.Record](t *testing.T, r R) R {
	t.Helper()
	before := fmt.Sprintf("%+v", r)
	data, err := reloader.Encode(r)
	if err != nil || len(data) > reloader.MaxWireBytes {
		t.Fatalf("%d bytes, more than %d: %v", len(data), reloader.MaxWireBytes, err)
	}
	if after := fmt.Sprintf("%+v", r); after != before {
		t.Error("encoding has changed the record of its caller")
	}
	read, err := reloader.Decode[R](data)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func manyKeys(n int) reloader.Change {
	c := wholeChange
	c.Keys, c.Shortened = nil, false
	before, after := map[string]string{}, map[string]string{}
	for i := range n {
		key := fmt.Sprintf("key-%058d", i)
		before[key], after[key] = "0123456789abcdef", "fedcba9876543210"
		c.Keys = append(c.Keys, reloader.KeyChange{Key: key, Op: reloader.KeyChanged})
	}
	c.Old.Keys, c.New.Keys = reloader.KeySums(before), reloader.KeySums(after)
	c.Candidates = slices.Repeat(c.Candidates[:1], 16)
	return c
}

func manyCauses(n int) reloader.Reload {
	r, change := wholeReload, manyKeys(100)
	r.Causes, r.Shortened, r.Message = nil, false, strings.Repeat("refused ", 1000)
	for range n {
		r.Causes = append(r.Causes, reloader.Cause{
			ChangeID: change.ID, Config: prices, NewSum: change.New.Sum, Keys: change.Keys, Candidates: change.Candidates, VerifiedAt: time.Unix(1, 0).UTC(),
		})
	}
	return r
}

func manyEdges(n int) reloader.WorkloadRecord {
	r := wholeWorkload
	r.Shortened, r.Edges, r.Hold = false, nil, &reloader.Hold{Reason: reloader.ReasonFailing, Message: strings.Repeat("webhook ", 1000), Since: time.Unix(1, 0).UTC()}
	for i := range n {
		r.Edges = append(r.Edges, reloader.Edge{
			Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "team-payments", Name: fmt.Sprintf("payments-service-config-%05d", i)},
			Why:    reloader.ReasonNamed, Clause: "configmap.reloader.stakater.com/reload",
			Uses:    slices.Repeat([]reloader.Use{{How: "env", Container: "payments", Keys: []string{"LEVEL"}}}, 20),
			Applied: reloader.Digest{KeyID: "0123456789ab", Sum: strings.Repeat("5", 64)}, How: reloader.ReasonBaseline, At: time.Unix(1, 0).UTC(),
		})
	}
	return r
}
