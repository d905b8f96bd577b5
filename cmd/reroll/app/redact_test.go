package app

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestRedactedHintsNameNobody(t *testing.T) {
	var stored []reloader.Hint
	sink := redacting{ingest.SinkFunc(func(_ context.Context, hints []reloader.Hint) error {
		stored = hints
		return nil
	})}
	given := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{
		User: "alice", AuthenticatedUser: "ci", SourceIP: "10.0.0.7", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit",
	}}}
	if err := sink.Put(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	want := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}}}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if given[0].Actor.User != "alice" {
		t.Error("what was given has changed")
	}
}
