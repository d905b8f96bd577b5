package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// stored returns the newest message of a config or workload as it is in the stream.
func stored(t *testing.T, q *Queue, stream, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	raw, err := q.last(testContext(t), stream, subject)
	if err != nil || raw == nil {
		t.Fatalf("nothing on %s: %v", subject, err)
	}
	return raw
}

func TestOneRequestIsOneTrace(t *testing.T) {
	const uuid = "5a0a4e9f-7f4e-4b34-9b56-0000000000af"
	q := open(t, Options{})
	ctx := testContext(t)
	h, c, r := hint("a"), change("a", "1"), reload("w", "r-1")
	h.AuditID = uuid
	c.Candidates = []reloader.Candidate{{AuditID: uuid, Time: epoch}}
	r.Causes[0].Candidates = c.Candidates
	// The other hints make it an atomic batch.
	if err := q.Put(ctx, append(hints(atomicFrom), h)); err != nil {
		t.Fatal(err)
	}
	appendChange(t, q, c, 0)
	if err := q.AppendReload(ctx, r); err != nil {
		t.Fatal(err)
	}
	parents := map[string]bool{}
	for subject, stream := range map[string]string{
		"reroll.hint.blue.configmap.shop.a":    hintsStream,
		"reroll.change.blue.configmap.shop.a":  changesStream,
		"reroll.reload.blue.deployment.shop.w": reloadsStream,
	} {
		header := stored(t, q, stream, subject).Header
		parent := header.Get("traceparent")
		if !strings.HasPrefix(parent, "00-5a0a4e9f7f4e4b349b560000000000af-") || !strings.HasSuffix(parent, "-01") {
			t.Errorf("%s: traceparent %q is not in the trace of %s", stream, parent, uuid)
		}
		if header.Get("ce-id") == "" {
			t.Errorf("%s: lost its CloudEvents attributes: %v", stream, header)
		}
		parents[parent] = true
	}
	if len(parents) != 3 {
		t.Errorf("three messages have the parent IDs %v", parents)
	}
}
