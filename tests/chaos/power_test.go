package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// TestTouches holds what the oracle wants of an acknowledged batch against the hints that ingest makes of it: who wants more would call
// a hint lost that never was, and who wants less would miss one.
func TestTouches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 200 {
		batch := auditv1.EventList{TypeMeta: metav1.TypeMeta{Kind: "EventList", APIVersion: auditv1.SchemeGroupVersion.String()}}
		for i := range 1 + random.IntN(12) {
			code := int32(200)
			if random.IntN(5) == 0 {
				code = 409
			}
			batch.Items = append(batch.Items, auditv1.Event{
				Level: auditv1.LevelMetadata, AuditID: "id", Stage: auditv1.StageResponseComplete, Verb: pick("update", "create", "delete", "get"), RequestURI: "/",
				User: authnv1.UserInfo{Username: pick("a", "b")}, UserAgent: pick("x", "y"), SourceIPs: []string{pick("10.0.0.1", "10.0.0.2")},
				ObjectRef: &auditv1.ObjectReference{
					Resource: pick("configmaps", "secrets", "pods"), Namespace: pick("chaos-0", "chaos-1"), Name: fmt.Sprint("c", random.IntN(3)), APIVersion: "v1",
				},
				ResponseStatus: &metav1.Status{Code: code},
				StageTimestamp: metav1.NewMicroTime(time.UnixMicro(int64(1000 + i))),
			})
		}
		body, err := json.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		made, err := audit.Decode(bytes.NewReader(body), audit.Options{Cluster: clusterName, Source: reloader.SourceAudit})
		if err != nil {
			t.Fatal(err)
		}
		var want []touch
		for _, h := range made.Hints {
			want = append(want, touch{h.Config.Namespace, h.Config.Name, h.Time.UnixMicro()})
		}
		got := touches(body)
		byTime := func(a, b touch) int { return int(a.at - b.at) }
		slices.SortFunc(got, byTime)
		slices.SortFunc(want, byTime)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(touch{})); diff != "" {
			t.Fatalf("touches of %s (-ingest +oracle):\n%s", body, diff)
		}
	}
}
