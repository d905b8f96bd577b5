package audit

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/reloader"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(list(item(f), "null", item(f, verbText, `"verb":"deletecollection"`))))
	f.Add([]byte(list(item(f, queryText, "?dryRun=All", nameText, `"name":"a.>"`))))
	f.Add([]byte(list(item(f, objectText, podStatusText), item(f, objectText, podStatusText, verbText, `"verb":"create"`))))
	f.Add([]byte(list(item(f, `"ana"`, `"\ud800\u0000"`, codeText, `"code":504`))))
	f.Add([]byte(`{"items":null,"kind":"EventList","apiVersion":"audit.k8s.io/v1"} x`))
	f.Add(encode(f, realistic(1, "update"), realistic(2, "delete")))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Decode(body, options())
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("error without a class: %v", err)
			}
			return
		}
		checkResult(t, got)
	})
}

// FuzzDecodeShipped fuzzes whole bodies, and the same as what envelopes hold.
func FuzzDecodeShipped(f *testing.F) {
	a, b := shippedEvent(f, "a"), shippedEvent(f, "b")
	for _, body := range []string{
		a + "\n" + b + "\n", "[" + a + "]", list(a, b), `{"log":` + quoted(a) + "}\nx\n", cloudWatch(a, "x"), azure(`{"log":` + quoted(a) + `}`),
		firehose(zipped(cloudWatch(a)), b, "x"), logEntry(f), "{\n\"items\":\n[" + a + "]}", "\n\n[",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeShipped(body, shippedOptions())
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
			t.Errorf("error without a class: %v", err)
		}
		checkResult(t, got)
		inner := string(body)
		for _, envelope := range []string{`{"log":` + quoted(inner) + "}", firehose(inner), firehose(zipped(inner)), firehose("\x1f\x8b" + inner)} {
			got, err := DecodeShipped([]byte(envelope), shippedOptions())
			if err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, errNoEvents) {
				t.Errorf("an item spoils its envelope: %v", err)
			}
			checkResult(t, got)
		}
	})
}

func checkResult(t *testing.T, got Result) {
	t.Helper()
	counted := len(got.Hints)
	for _, n := range got.Skipped {
		counted += n
	}
	if counted != got.Received {
		t.Errorf("%d events received, %d accounted for", got.Received, counted)
	}
	for _, h := range got.Hints {
		checkHint(t, h)
	}
}

func checkHint(t *testing.T, h reloader.Hint) {
	t.Helper()
	if err := h.Config.Validate(); err != nil {
		t.Error(err)
	}
	for text, limit := range map[string]int{
		h.Actor.User: reloader.MaxUserLength, h.Actor.AuthenticatedUser: reloader.MaxUserLength, h.AuditID: reloader.MaxAuditIDLength,
		h.Actor.UserAgent: reloader.MaxUserAgentLength, h.Actor.SourceIP: reloader.MaxSourceIPLength,
		h.Actor.FieldManager: reloader.MaxFieldManagerLength,
	} {
		// Equal texts share one entry, whose limit is then any of theirs: user and agent, the longest, bound them all.
		if limit = max(limit, reloader.MaxUserLength); len(text) > limit || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\n\r\x1b") {
			t.Errorf("bad text %q", text)
		}
	}
	if _, err := reloader.Encode(h); err != nil {
		t.Error(err)
	}
}
