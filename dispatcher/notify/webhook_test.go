package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		{204, true, false},
		{299, true, false},
		{301, false, false},
		{304, false, false},
		{307, false, false},
		{400, false, true},
		{401, false, true},
		{403, false, true},
		{404, false, true},
		{409, false, true},
		{410, false, true},
		{422, false, true},
		{408, false, false},
		{425, false, false},
		{429, false, false},
		{500, false, false},
		{502, false, false},
		{503, false, false},
		{599, false, false},
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

func TestCallEndsInTime(t *testing.T) {
	cases := map[string]struct {
		reason   string
		patience time.Duration
		want     time.Duration
	}{
		"patient caller":   {"a receiver has its time and no more", time.Hour, requestTime},
		"impatient caller": {"its context ends the call", time.Second, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWebhook(t, WebhookOptions{URL: "http://receiver.example"})
				w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				})
				ctx, cancel := context.WithTimeout(t.Context(), tc.patience)
				defer cancel()
				start := time.Now()
				err := w.Call(ctx, PayloadOf(wholeReload()))
				if took := time.Since(start); took != tc.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: ended after %s with %v, want %s", tc.reason, took, err, tc.want)
				}
			})
		})
	}
}

// TestEndlessAnswer meets a receiver that never stops to talk.
func TestEndlessAnswer(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 4<<10)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	w := newWebhook(t, WebhookOptions{URL: server.URL})
	if err := w.Call(t.Context(), PayloadOf(wholeReload())); err != nil {
		t.Errorf("error %v, want success: the status says so", err)
	}
	<-done
}

func TestBadWebhookAddress(t *testing.T) {
	_, err := NewWebhook(WebhookOptions{URL: "receiver.example/hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want one without the address", err)
	}
}
