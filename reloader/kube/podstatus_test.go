package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// status returns a PodStatus of one object, written at a second after noon, which is its resource version too.
func status(uid string, second int, updated bool, version string) podStatus {
	return podStatus{
		uid: uid, version: fmt.Sprint(second), order: uint64(second), at: noon.Add(time.Duration(second) * time.Second),
		updated: updated, manager: "driver", objects: map[string]string{"db": version},
	}
}

// TestDecide: the newest update is the content; only it proves anything.
func TestDecide(t *testing.T) {
	sameSecond := func(s podStatus) podStatus {
		s.at = noon
		return s
	}
	cases := map[string]struct {
		reason   string
		statuses []podStatus
		decisive string
		proven   bool
	}{
		"created":     {"first mounts are no rotation, and the oldest is where it begins", []podStatus{status("b", 2, false, "v2"), status("a", 1, false, "v1")}, "a", false},
		"updated":     {"the update is younger than every mount", []podStatus{status("a", 3, true, "v2"), status("b", 2, false, "v1")}, "a", true},
		"two updated": {"pods rotate one after the other, and the newest is ahead", []podStatus{status("a", 4, true, "v3"), status("b", 3, true, "v2")}, "a", true},
		"within a second": {
			"the order of writes says what the clock does not", []podStatus{sameSecond(status("a", 3, true, "v2")), sameSecond(status("b", 4, true, "v3"))}, "b", true,
		},
		"mounted the same since": {"a new pod confirms", []podStatus{status("a", 3, true, "v2"), status("b", 4, false, "v2")}, "a", true},
		"mounted another since":  {"the update is history", []podStatus{status("a", 3, true, "v2"), status("b", 4, false, "v3")}, "a", false},
	}
	for name, test := range cases {
		if got, proven := decide(test.statuses); got.uid != test.decisive || proven != test.proven {
			t.Errorf("%s: %q decides, proven: %t; want %q, %t: %s", name, got.uid, proven, test.decisive, test.proven, test.reason)
		}
	}
}

// rotation is a class while its store goes from v1 to v2. Each pod of its workloads is rotated, deleted, and made again; anyone who looks
// in between must see at most one change, and that forward.
type rotation struct {
	statuses map[string]podStatus
	clock    int
	seen     uint64
	proven   []string
}

func (r *rotation) write(uid string, updated bool, version string) {
	r.clock++
	r.statuses[uid] = status(uid, r.clock, updated, version)
}

func (r *rotation) look() {
	s, proven := decide(slices.Collect(maps.Values(r.statuses)))
	if !proven || s.order < r.seen {
		return
	}
	r.seen = s.order
	if now := s.objects["db"]; len(r.proven) == 0 || r.proven[len(r.proven)-1] != now {
		r.proven = append(r.proven, now)
	}
}

// pods and what happens to each, in this order. The last is of a workload that nothing rolls, and was rotated once before.
var rotationSteps = [][]string{{"rotate", "delete", "create"}, {"rotate", "delete", "create"}, {"delete", "create"}, {"rotate"}}

func (r *rotation) step(pod, step int) {
	switch uid := fmt.Sprint("pod-", pod); rotationSteps[pod][step] {
	case "rotate":
		r.write(uid, true, "v2")
	case "delete":
		delete(r.statuses, uid)
	case "create":
		r.write(uid+"-new", false, "v2")
	}
}

// TestPodsThatRotateMakeOneChange handles every step of every order of the steps.
func TestPodsThatRotateMakeOneChange(t *testing.T) {
	orders := 0
	var visit func(order []int, done []int)
	visit = func(order, done []int) {
		complete := true
		for pod, n := range done {
			if n == len(rotationSteps[pod]) {
				continue
			}
			complete = false
			next := slices.Clone(done)
			next[pod]++
			visit(append(slices.Clone(order), pod), next)
		}
		if complete {
			orders++
			checkRotation(t, order)
		}
	}
	visit(nil, make([]int, len(rotationSteps)))
	if orders != 5040 { // (3+3+2+1)! / (3! 3! 2! 1!)
		t.Errorf("%d orders", orders)
	}
}

func checkRotation(t *testing.T, order []int) {
	t.Helper()
	r := &rotation{statuses: map[string]podStatus{}}
	for pod := range rotationSteps {
		r.write(fmt.Sprint("pod-", pod), pod == len(rotationSteps)-1, "v1")
	}
	r.look()
	done := make([]int, len(rotationSteps))
	for _, pod := range order {
		r.step(pod, done[pod])
		done[pod]++
		r.look()
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, r.proven); diff != "" {
		t.Fatalf("order %v (-want +got):\n%s", order, diff)
	}
}

// podStatusJSON is a PodStatus as the API server gives it after a rotation and after somebody else labelled it.
const podStatusJSON = `{"apiVersion":"secrets-store.csi.x-k8s.io/v1","kind":"SecretProviderClassPodStatus",
"metadata":{"name":"web-0-shop-vault","namespace":"shop","uid":"u","resourceVersion":"77","generation":2,"creationTimestamp":"2026-01-02T12:00:00Z",
"managedFields":[
{"manager":"secrets-store-csi-driver","operation":"Update","time":"2026-01-02T12:00:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{},"f:status":{"f:objects":{}}}},
{"manager":"labeler","operation":"Update","time":"2026-01-02T12:00:09Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
"status":{"secretProviderClassName":"vault","podName":"web-0","mounted":true,"objects":[{"id":"db","version":"v2"},{"id":"api/key","version":"v7"}]}}`

func parsed(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

func FuzzReadPodStatus(f *testing.F) {
	f.Add([]byte(podStatusJSON))
	f.Add([]byte(`{"kind":"X","metadata":{"generation":2.5,"managedFields":[7,{}]},"status":{"objects":{}}}`))
	f.Add([]byte(`{"kind":"X","metadata":7,"status":[]}`))
	f.Add([]byte(`{"kind":"X","status":{"objects":[{"id":"` + strings.Repeat("é", 300) + `"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		u := &unstructured.Unstructured{}
		if u.UnmarshalJSON(body) != nil {
			return
		}
		s := readPodStatus(u)
		for id := range s.objects {
			if !utf8.ValidString(id) {
				t.Errorf("ID %.300q", id)
			}
		}
		if _, proven := decide([]podStatus{s}); proven != s.updated {
			t.Errorf("one PodStatus that is updated: %t proves: %t", s.updated, proven)
		}
	})
}
