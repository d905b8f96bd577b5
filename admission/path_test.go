package admission

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// TestPathOfTheHour: a path that was published is accepted for an hour at least after another one has taken its place, by processes whose clocks
// differ, and is worth nothing two hours after that.
func TestPathOfTheHour(t *testing.T) {
	ring, at := ringOf(t, 'a'), time.Date(2026, 1, 2, 3, 59, 59, 0, time.UTC)
	path := PathAt(ring, at)
	for _, after := range []time.Duration{-time.Hour, 0, time.Second, time.Hour} {
		if !knowsPath(ring, path, at.Add(after)) {
			t.Errorf("%s after it was published it is not known", after)
		}
	}
	for _, after := range []time.Duration{-2 * time.Hour, 2 * time.Hour, 24 * time.Hour} {
		if knowsPath(ring, path, at.Add(after)) {
			t.Errorf("%s after it was published it is still known", after)
		}
	}
	if PathAt(ring, at.Add(time.Second)) == path || PathAt(ringOf(t, 'b'), at) == path {
		t.Error("it is the same in another hour, or with another key")
	}
	if id := digest.Key(strings.Repeat("a", digest.KeySize)).ID(); strings.Contains(path, id) || len(path) != len(Path)+1+64 {
		t.Errorf("path %s", path)
	}
}

// TestOnlyTheProvenAreAnswered: without the path nothing of a request is read, not even its body.
func TestOnlyTheProvenAreAnswered(t *testing.T) {
	for _, tc := range []struct {
		path string
		want int
	}{
		{Path, http.StatusNotFound},
		{Path + "/", http.StatusNotFound},
		{"secret", http.StatusOK},
	} {
		w := &world{}
		h := newHandler(t, w, nil)
		if tc.path == "secret" {
			tc.path = PathAt(h.options.Ring, time.Now())
		}
		body := strings.NewReader(string(request(t, imageOne.object(), imageTwo.object(), nil)))
		left := body.Len()
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, tc.path, body))
		if answer.Code != tc.want {
			t.Errorf("%s is answered %d, want %d", tc.path, answer.Code, tc.want)
		}
		if tc.want == http.StatusNotFound && (body.Len() != left || len(w.reads) > 0) {
			t.Errorf("%s: %d bytes of the body and %d configs are read", tc.path, left-body.Len(), len(w.reads))
		}
	}
}

// TestOneNamespaceIsRead: a workload that names configs of another namespace makes the webhook read none of them, shared or not, and one whose
// object is in another namespace than its request is left alone before anything is read.
func TestOneNamespaceIsRead(t *testing.T) {
	for key, list := range map[string]string{"reroll.dev/secrets": "theirs/token,key", "wave.pusher.com/extra-secrets": "theirs/token,key"} {
		opted := map[string]string{key: list, "wave.pusher.com/update-on-config-change": "true"}
		w := &world{values: map[reloader.Config]string{config: "new", other: "new", {Kind: reloader.Secret, Namespace: "theirs", Name: "token"}: "theirs"}}
		before, after := imageOne, imageTwo
		before.opted, after.opted = opted, opted
		h := newHandler(t, w, nil)
		response(t, h, "", request(t, before.object(), after.object(), nil))
		if len(w.reads) == 0 {
			t.Errorf("%s: nothing is read", key)
		}
		for len(w.reads) > 0 {
			if c := <-w.reads; c.Namespace != namespace {
				t.Errorf("%s: %s is read", key, c)
			}
		}
		for _, in := range []string{"theirs", ""} {
			answer := response(t, h, "", request(t, before.object(), after.object(), func(r *admissionv1.AdmissionRequest) { r.Namespace = in }))
			if answer.Patch != nil || len(answer.Warnings) != 1 || len(w.reads) > 0 {
				t.Errorf("a request in namespace %q is answered %+v after %d reads", in, answer, len(w.reads))
			}
		}
	}
}

// TestContentIsBounded: what marks are made of together is kept within a bound, whatever tenants write, and is let go with its request. A mark for
// which there is no room is left to the dispatcher.
func TestContentIsBounded(t *testing.T) {
	opted := map[string]string{"wave.pusher.com/update-on-config-change": "true"}
	before, after := imageOne, imageTwo
	before.opted, after.opted = opted, opted
	h := newHandler(t, &world{values: map[reloader.Config]string{config: strings.Repeat("x", maxMemory/2), other: strings.Repeat("x", maxMemory/2)}}, nil)
	for range 3 {
		got := response(t, h, "", request(t, before.object(), after.object(), nil))
		if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], errTooMuch.Error()) || strings.Contains(string(got.Patch), dialect.WaveHashKey) {
			t.Fatalf("patch %s, warnings %q", got.Patch, got.Warnings)
		}
	}
	if !h.memory.TryAcquire(maxMemory) {
		t.Error("something is still held")
	}
}
