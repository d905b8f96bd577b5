package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
