//go:build nightly

package projection

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// most is what the projection may take with everything it holds by default: 90 MB, so that its process can do with 150.
const most = 90_000_000

// full returns a projection that holds as many changes and reloads as it ever does and 5,000 workloads. Each change has
// caused two reloads. wire takes every record through the form that it has when it is stored.
func full(b testing.TB, wire bool) *Projection {
	p := New(Limits{})
	for seq := uint64(1); seq <= DefaultChanges; seq++ {
		p.AddChange(seq, overTheWire(b, wireChange(seq), wire))
		p.AddReload(2*seq-1, overTheWire(b, wireReload(2*seq-1, seq), wire))
		p.AddReload(2*seq, overTheWire(b, wireReload(2*seq, seq), wire))
	}
	for n := range uint64(5000) {
		p.PutWorkload(overTheWire(b, wireWorkload(n), wire))
	}
	p.SetCaughtUp()
	return p
}

func TestMemoryIsBounded(t *testing.T) {
	before := heap()
	p := full(t, false)
	took := heap() - before
	t.Logf("%d MB for %d changes and %d reloads", took/1e6, DefaultChanges, DefaultReloads)
	if took > most {
		t.Errorf("a full projection takes %d MB, more than %d", took/1e6, most/1_000_000)
	}
	page, err := p.Reloads("", DefaultReloads, all)
	if err != nil || len(page.Items) != DefaultReloads {
		t.Errorf("it holds %d reloads, %v", len(page.Items), err)
	}
}

// BenchmarkFill fills a projection as records come off the wire, and reports what they take.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		before := heap()
		p := full(b, true)
		b.ReportMetric(float64(heap()-before)/1e6, "MB-kept")
		runtime.KeepAlive(p)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func overTheWire[R reloader.Record](b testing.TB, r R, wire bool) R {
	if !wire {
		return r
	}
	data, err := reloader.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	decoded, err := reloader.Decode[R](data)
	if err != nil {
		b.Fatal(err)
	}
	return decoded
}

func wireChange(seq uint64) reloader.Change {
	at := time.Date(2026, 11, 21, 12, 0, int(seq), 0, time.UTC)
	return reloader.Change{
		ID:      fmt.Sprintf("c-%016d", seq),
		Cluster: "production-east",
		Config:  reloader.Config{Kind: reloader.ConfigMap, Namespace: fmt.Sprintf("team-%d", seq%50), Name: fmt.Sprintf("settings-%d", seq%3000)},
		Type:    reloader.ChangeUpdated,
		UID:     fmt.Sprintf("6b1c7d5e-0000-4000-8000-%012d", seq%3000), ResourceVersion: fmt.Sprint(seq * 7),
		Old:  reloader.Digest{KeyID: "key-1", Sum: fmt.Sprintf("%064d", max(3000, seq)-3000), Keys: map[string]string{"a": "0011223344556677"}},
		New:  reloader.Digest{KeyID: "key-1", Sum: fmt.Sprintf("%064d", seq), Keys: map[string]string{"a": "7766554433221100"}},
		Keys: []reloader.KeyChange{{Key: "application.yaml", Op: reloader.KeyChanged}},
		Candidates: []reloader.Candidate{{
			Actor: reloader.Actor{
				User: fmt.Sprintf("system:serviceaccount:team-%d:deployer", seq%50), SourceIP: "10.1.2.3",
				UserAgent: "kubectl/v1.37.1 (linux/amd64) kubernetes/0000000", FieldManager: "kubectl-client-side-apply",
			},
			Verb: reloader.VerbPatch, AuditID: fmt.Sprintf("9e2f0000-0000-4000-8000-%012d", seq), Time: at, Basis: reloader.BasisOnlyWriter,
		}},
		Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: at, VerifiedAt: at,
	}
}

func wireReload(seq, change uint64) reloader.Reload {
	c := wireChange(change)
	return reloader.Reload{
		ID:       fmt.Sprintf("r-%016d", seq),
		Cluster:  c.Cluster,
		UID:      c.UID,
		Dialect:  "stakater",
		Strategy: "env-vars",
		Outcome:  reloader.ReasonReloaded,
		Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: c.Config.Namespace, Name: fmt.Sprintf("service-%d", seq%3000)},
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: c.Old.Sum, NewSum: c.New.Sum,
			Keys: c.Keys, Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt, Container: "app",
		}},
		Attempt: reloader.Attempt{Attempts: 1, Generation: int64(seq), DecidedAt: c.VerifiedAt, PatchedAt: c.VerifiedAt},
	}
}

func wireWorkload(n uint64) reloader.WorkloadRecord {
	c := wireChange(n)
	edge := reloader.Edge{
		Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto",
		Uses:    []reloader.Use{{How: "envFrom", Container: "app"}, {How: "volume", Keys: []string{"application.yaml"}}},
		Handled: reloader.Handled{KeyID: "key-1", Sum: c.New.Sum, How: reloader.ReasonReloaded, At: c.VerifiedAt},
	}
	return reloader.WorkloadRecord{
		Cluster:   c.Cluster,
		Workload:  reloader.WorkloadRef{Kind: "Deployment", Namespace: c.Config.Namespace, Name: fmt.Sprintf("service-%d", n)},
		UID:       c.UID,
		Dialect:   "stakater",
		Strategy:  "env-vars",
		Edges:     []reloader.Edge{edge, edge, edge},
		Standing:  reloader.Standing{LastReload: fmt.Sprintf("r-%016d", n)},
		UpdatedAt: c.VerifiedAt,
	}
}
