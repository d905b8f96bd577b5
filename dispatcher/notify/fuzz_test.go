package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/reloader"
)

// FuzzBodies builds every body of hostile names: all are valid, none is longer than allowed, and none says more than it was given.
func FuzzBodies(f *testing.F) {
	f.Add("prices", "shop", "storage", "blue", "alice", "eur", uint16(1))
	f.Add(`"},{"text":"`, "\x00\xff\xfe", "<!channel>", "*bold* \u2028", "a\r\nX-Evil: 1", "${jndi:x}", uint16(300))
	f.Add(strings.Repeat("ä", 2000), strings.Repeat("\\", 2000), strings.Repeat("<", 2000), strings.Repeat("*", 5000), "", "", uint16(3))
	f.Fuzz(func(t *testing.T, name, namespace, workload, info, user, touchedKey string, repeat uint16) {
		c := cause("c-1", reloader.Config{Kind: reloader.Secret, Namespace: namespace, Name: name}, 0, sumA, sumB)
		c.Candidates[0].Actor.User = user
		for range repeat % 512 {
			c.Keys = append(c.Keys, key(touchedKey, reloader.KeyChanged))
			c.Candidates = append(c.Candidates, c.Candidates[0])
		}
		r := reload(c)
		r.Workload.Name, r.Workload.Namespace = workload, namespace
		checkAlerts(t, sentences(r, info))
		checkPayload(t, r)
	})
}

func checkAlerts(t *testing.T, texts []string) {
	t.Helper()
	if len(texts) != 1 {
		t.Fatalf("%d sentences, want 1", len(texts))
	}
	text := texts[0]
	if len(text) > maxTextBytes || !utf8.ValidString(text) {
		t.Errorf("text of %d bytes, valid: %t", len(text), utf8.ValidString(text))
	}
	if got := string(sinkNamed("raw").encode(text).body); got != strings.ReplaceAll(text, "*", "") {
		t.Errorf("raw body %q of %q", got, text)
	}
	for _, s := range []sink{sinkNamed("teams"), sinkNamed("gchat")} {
		var got map[string]string
		if err := json.Unmarshal(s.encode(text).body, &got); err != nil || len(got) != 1 || got["text"] != text {
			t.Errorf("%s body says %q, want %q: %v", s.name, got, text, err)
		}
	}
	var got struct{ Attachments []map[string]string }
	if err := json.Unmarshal(sinkNamed("slack").encode(text).body, &got); err != nil || len(got.Attachments) != 1 || got.Attachments[0]["text"] != text {
		t.Errorf("slack body says %q, want %q: %v", got, text, err)
	}
}

func checkPayload(t *testing.T, r reloader.Reload) {
	t.Helper()
	body, err := json.Marshal(PayloadOf(r))
	if err != nil {
		t.Fatal(err)
	}
	var got Payload
	if err := json.Unmarshal(body, &got); err != nil || got.Workload.Name != strings.ToValidUTF8(r.Workload.Name, "\uFFFD") && utf8.ValidString(r.Workload.Name) {
		t.Errorf("payload names %q, want %q: %v", got.Workload.Name, r.Workload.Name, err)
	}
}
