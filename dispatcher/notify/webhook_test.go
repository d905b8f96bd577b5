package notify

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newWebhook(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	o.Version = "v1.2.3"
	w, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func TestCall(t *testing.T) {
	p := PayloadOf(wholeReload())
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	url, requests := receiver(t, answering(http.StatusAccepted))
	w := newWebhook(t, WebhookOptions{URL: strings.Replace(url, "//", "//me:pass@", 1) + "/reload"})
	if err := w.Call(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	if got.Method != http.MethodPost || got.URI != "/reload" || got.Body != string(body) {
		t.Errorf("got %s %s with\n%s\nwant POST /reload with\n%s", got.Method, got.URI, got.Body, body)
	}
	for header, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "reroll/v1.2.3", "Idempotency-Key": p.Reload + ".c-3",
		"Authorization": "Basic bWU6cGFzcw==",
	} {
		if diff := cmp.Diff([]string{want}, got.Header[header]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", header, diff)
		}
	}
}

func TestCallAnswers(t *testing.T) {
	cases := []struct {
		status      int
		ok, refused bool
	}{
		{200, true, false},
		{201, true, false},
		{301, false, false},
		{400, false, true},
		{404, false, true},
		{422, false, true},
		{408, false, false},
		{429, false, false},
		{500, false, false},
		{503, false, false},
	}
	for _, tc := range cases {
		url, requests := receiver(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
		})
		w := newWebhook(t, WebhookOptions{URL: url})
		err := w.Call(t.Context(), PayloadOf(wholeReload()))
		if (err == nil) != tc.ok {
			t.Errorf("%d: error %v, want success: %t", tc.status, err, tc.ok)
		}
		var refusal interface{ Refused() bool }
		if refused := errors.As(err, &refusal) && refusal.Refused(); refused != tc.refused {
			t.Errorf("%d: refused: %t, want %t", tc.status, refused, tc.refused)
		}
		if status, found := errors.AsType[*StatusError](err); found != !tc.ok || found && status.Status != tc.status {
			t.Errorf("%d: error %v does not hold the status", tc.status, err)
		}
		if len(requests) != 1 {
			t.Errorf("%d: %d requests, want 1: redirects are not followed and the caller decides about the next", tc.status, len(requests))
		}
	}
}

func TestCallWithoutAnswer(t *testing.T) {
	w := newWebhook(t, WebhookOptions{URL: "http://bot:hunter2@" + closedPort(t) + "/hunter2?k=hunter2"})
	err := w.Call(t.Context(), PayloadOf(wholeReload()))
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), w.url.Host) {
		t.Errorf("error %v, want one that names the host alone", err)
	}
	if status, found := errors.AsType[*StatusError](err); found {
		t.Errorf("error %v is an answer, where there was none", status)
	}
}
