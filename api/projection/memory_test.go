package projection

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// BenchmarkFill adds 100,000 changes and 100,000 reloads as they come off the wire, and reports what they take.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		before := heap()
		p := New(Limits{})
		for seq := uint64(1); seq <= DefaultLimit; seq++ {
			p.AddChange(seq, overTheWire(b, wireChange(seq)))
			p.AddReload(seq, overTheWire(b, wireReload(seq)))
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB-kept")
		runtime.KeepAlive(p)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func overTheWire[R reloader.Record](b *testing.B, r R) R {
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
		Old:  reloader.Digest{KeyID: "key-1", Sum: fmt.Sprintf("%064d", seq), Keys: map[string]string{"a": "0011223344556677"}},
		New:  reloader.Digest{KeyID: "key-1", Sum: fmt.Sprintf("%064d", seq+1), Keys: map[string]string{"a": "7766554433221100"}},
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

func wireReload(seq uint64) reloader.Reload {
	c := wireChange(seq)
	return reloader.Reload{
		ID: fmt.Sprintf("r-%016d", seq), Cluster: c.Cluster, UID: c.UID, Dialect: "stakater", Strategy: "env-vars", Outcome: reloader.ReasonReloaded,
		Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: c.Config.Namespace, Name: fmt.Sprintf("service-%d", seq%3000)},
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: c.Old.Sum, NewSum: c.New.Sum,
			Keys: c.Keys, Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt, Container: "app",
		}},
		Attempts: 1, Generation: int64(seq), DecidedAt: c.VerifiedAt, PatchedAt: c.VerifiedAt,
	}
}
