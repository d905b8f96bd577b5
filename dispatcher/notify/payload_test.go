package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// wholeReload has a config that changed twice, and the change of another one between.
func wholeReload() reloader.Reload {
	return reload(
		cause("c-1", prices, 0, sumA, sumB, key("eur", reloader.KeyChanged), key("gbp", reloader.KeyAdded)),
		cause("c-3", prices, 2, sumB, sumC, key("usd", reloader.KeyRemoved)),
		cause("c-2", token, 1, sumA, sumB, key("token", reloader.KeyChanged)),
	)
}

// TestCall: the payload is that of the golden file, and an answer decides once whether calling again makes sense.
func TestCall(t *testing.T) {
	p := PayloadOf(wholeReload())
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "payload.v1.json", body)
	for status, want := range map[int]struct{ ok, refused bool }{
		200: {true, false}, 201: {true, false}, 301: {false, false}, 400: {false, true}, 404: {false, true}, 422: {false, true}, 408: {false, false},
		425: {false, false}, 429: {false, false}, 500: {false, false}, 503: {false, false},
	} {
		url, requests := receiver(t, status)
		w, err := NewWebhook(strings.Replace(url, "//", "//me:pass@", 1)+"/reload", "v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		err = w.Notify(t.Context(), wholeReload())
		(&http.Client{Transport: w.transport}).CloseIdleConnections()
		var refusal interface{ Refused() bool }
		if refused := errors.As(err, &refusal) && refusal.Refused(); (err == nil) != want.ok || refused != want.refused {
			t.Errorf("%d: error %v, refused %t", status, err, refused)
		}
		if said, found := errors.AsType[*StatusError](err); found == want.ok || found && said.Status != status {
			t.Errorf("%d: error %v does not hold the status", status, err)
		}
		got := <-requests
		if got.Method != http.MethodPost || got.URI != "/reload" || got.Body != string(body) || len(requests) > 0 {
			t.Errorf("%d: %s %s with\n%s, and %d more requests", status, got.Method, got.URI, got.Body, len(requests))
		}
		for header, want := range map[string]string{
			"Content-Type": "application/json", "User-Agent": "reroll/v1.2.3", "Idempotency-Key": p.Reload + ".c-3", "Authorization": "Basic bWU6cGFzcw==",
		} {
			if diff := cmp.Diff([]string{want}, got.Header[header]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", header, diff)
			}
		}
	}
}

// TestIdempotencyKey: a receiver that drops what it has seen must drop a repeated call, and must not drop the second of two calls
// about content that came back.
func TestIdempotencyKey(t *testing.T) {
	toB, toA := cause("c-1", prices, 0, sumA, sumB), cause("c-2", prices, 1, sumB, sumA)
	toBAgain, other := cause("c-3", prices, 2, sumA, sumB), cause("c-4", token, 0, sumA, sumB)
	first, newest := reload(toB), reload(toA, toBAgain)
	newest.ID = first.ID
	later := reload(toB)
	later.DecidedAt = at.AddDate(0, 0, 1)
	for name, tc := range map[string]struct {
		a, b reloader.Reload
		same bool
	}{
		"repeated later": {first, later, true},
		"repeated by a process that knows only the newest change": {newest, reload(toBAgain), true},
		"in another order":       {reload(toB, other), reload(other, toB), true},
		"content that came back": {first, reload(toBAgain), false},
	} {
		a, b := PayloadOf(tc.a), PayloadOf(tc.b)
		if a.Reload != b.Reload || (a.IdempotencyKey == b.IdempotencyKey) != tc.same {
			t.Errorf("%s: reloads %q and %q, keys %q and %q", name, a.Reload, b.Reload, a.IdempotencyKey, b.IdempotencyKey)
		}
	}
}

// TestLimits: a body that nobody takes is worth less than one that leaves something out and says so.
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		sent, kept [3]int // configs, keys, candidates
	}{
		{[3]int{64, 64, 8}, [3]int{64, 64, 8}},
		{[3]int{65, 1, 1}, [3]int{64, 1, 1}},
		{[3]int{1, 65, 1}, [3]int{1, 64, 1}},
		{[3]int{1, 1, 9}, [3]int{1, 1, 8}},
		{[3]int{5000, 100, 100}, [3]int{64, 64, 8}},
	} {
		var causes []reloader.Cause
		for i := range tc.sent[0] {
			c := cause(fmt.Sprint("c-", i), reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprint("n", i)}, i, sumA, sumB)
			c.Keys, c.Candidates = make([]reloader.KeyChange, tc.sent[1]), make([]reloader.Candidate, tc.sent[2])
			causes = append(causes, c)
		}
		got := PayloadOf(reload(causes...))
		kept := [3]int{len(got.Configs), len(got.Configs[0].Keys), len(got.Configs[0].Candidates)}
		if kept != tc.kept || got.Truncated != (tc.sent != tc.kept) || !strings.HasSuffix(got.IdempotencyKey, "."+causes[len(causes)-1].ChangeID) {
			t.Errorf("of %v kept %v, truncated %t, key %q", tc.sent, kept, got.Truncated, got.IdempotencyKey)
		}
	}
}
