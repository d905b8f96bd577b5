package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestSecondClusterOfANameIsRefused starts two real clusters under one name: the hub has the records of the first alone, the log of the second has
// both UIDs, and its own reloads go on.
func TestSecondClusterOfANameIsRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*lineTime)
	defer cancel()
	h := startFleetHub(ctx, t, "c1")
	first := join(ctx, t, h, "c1")
	first.edit(ctx, 1)
	first.arrives(ctx, h)

	second := join(ctx, t, h, "c1")
	second.edit(ctx, 2)
	refusal := fmt.Sprintf(`is the cluster with UID \"%s\", and this one has UID \"%s\"`, first.uid(ctx), second.uid(ctx))
	wait(ctx, t, second.Line, func(context.Context) error {
		if log := second.Reroll.Log(); !strings.Contains(log, "the hub refuses this cluster") || !strings.Contains(log, refusal) {
			return errors.New("the refusal is not in the log: " + refusal)
		}
		return nil
	})
	second.edit(ctx, 3)
	first.edit(ctx, 4)
	first.arrives(ctx, h)
	at, err := h.ids(ctx, "c1")
	if err != nil {
		t.Fatal(err)
	}
	own, err := recorded(ctx, second.Line)
	if err != nil || len(own) < 2 {
		t.Fatalf("the second has %q on record: %v", own, err)
	}
	for _, id := range own {
		if at[id] {
			t.Errorf("the hub has %s of the second", id)
		}
	}
	if log := first.Reroll.Log(); strings.Contains(log, "refuses") {
		t.Errorf("the first is refused:\n%s", log)
	}
}

// uid returns that of the namespace kube-system, by which a hub knows the cluster.
func (m *fleetMember) uid(ctx context.Context) string {
	m.t.Helper()
	ns, err := m.Kube.Client().CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return string(ns.UID)
}

// recorded lists the changes and reloads that a cluster has on record, as fleetHub.ids calls them.
func recorded(ctx context.Context, l *line.Line) (ids []string, err error) {
	for stream, path := range map[string]string{"CHANGES": "changes", "RELOADS": "reloads"} {
		var page struct{ Items []struct{ ID string } }
		if err := l.Reroll.Get(ctx, "/api/v1/"+path+"?limit=500", &page); err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			ids = append(ids, stream+" "+item.ID)
		}
	}
	return ids, nil
}
