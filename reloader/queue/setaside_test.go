package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// publish stores raw bytes where a record belongs.
func publish(t *testing.T, q *Queue, subject, data string) uint64 {
	t.Helper()
	ack, err := q.js.Publish(testContext(t), subject, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

func asideOf(t *testing.T, q *Queue, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	raw, err := q.last(testContext(t), setAsideStream, subject)
	if err != nil || raw == nil {
		t.Fatalf("nothing was set aside on %s: %v", subject, err)
	}
	return raw
}

func TestUnreadableHintsAreSetAside(t *testing.T) {
	foreign, err := reloader.Encode(hint("other"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ data, reason string }{
		"garbage":            {"\x00{", "invalid character"},
		"a newer version":    {`{"v":99,"cluster":"blue"}`, "newer version"},
		"names":              {`{"v":1,"cluster":"blue","config":{"kind":"Secret","namespace":"*","name":"a"}}`, "invalid name"},
		"a foreign subject":  {string(foreign), "subject of another"},
		"more than a record": {strings.Repeat("x", 900<<10), "exceed the limit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := open(t, Options{})
			subject, _ := configSubject(hintPrefix, "blue", config("a"))
			publish(t, q, subject, c.data)
			if err := q.Put(testContext(t), []reloader.Hint{hint("good")}); err != nil {
				t.Fatal(err)
			}
			got := consume(t, q, acknowledge)
			eventually(t, "the good one is delivered", func() bool { return got.names()["good"] == 1 })
			eventually(t, "the bad one is out of the way", func() bool { return backlog(t, q) == 0 })
			got.end(t)
			if len(got.deliveries()) != 1 {
				t.Error("the bad one was delivered")
			}
			aside := asideOf(t, q, "reroll.setaside.hints.1")
			if want := c.data[:min(len(c.data), reloader.MaxWireBytes)]; string(aside.Data) != want {
				t.Errorf("%d bytes were kept of %d", len(aside.Data), len(c.data))
			}
			if reason := aside.Header.Get(headerReason); !strings.Contains(reason, c.reason) || aside.Header.Get(headerSubject) != subject {
				t.Errorf("kept with reason %q, subject %q", reason, aside.Header.Get(headerSubject))
			}
		})
	}
}

func TestUnreadableChangeIsReplacedByABaseline(t *testing.T) {
	q := open(t, Options{})
	subject, _ := configSubject(changePrefix, "blue", config("a"))
	sequence := publish(t, q, subject, `{"v":99}`)
	changes, err := q.LoadChanges(testContext(t), "blue")
	got := changes[config("a")]
	if err != nil || got.Sequence != sequence || got.Change.Type != reloader.ChangeBaseline {
		t.Fatalf("loaded %+v, %v", got, err)
	}
	if got.Change.New.Comparable(reloader.Digest{KeyID: "k1", Sum: "1"}) {
		t.Error("the unknown content can be compared, so it would count as a change")
	}
	if latest, ok, err := q.LatestChange(testContext(t), "blue", config("a")); err != nil || !ok || latest.Sequence != sequence {
		t.Errorf("latest is %+v, %v, %v", latest, ok, err)
	}
	asideOf(t, q, "reroll.setaside.changes.1")
	appendChange(t, q, change("a", "1"), sequence)
}

func TestUnreadableRecordsAreLeftOut(t *testing.T) {
	q := open(t, Options{})
	ctx := testContext(t)
	subject, _ := workloadSubject(workloadPrefix, "blue", workload("bad"))
	publish(t, q, subject, `{"v":99}`)
	if err := q.PutWorkload(ctx, record("good")); err != nil {
		t.Fatal(err)
	}
	records, err := q.LoadWorkloads(ctx, "blue")
	if err != nil || len(records) != 1 || records[0].Workload != workload("good") {
		t.Errorf("loaded %+v, %v", records, err)
	}
	asideOf(t, q, "reroll.setaside.kv=5Freroll=5Fworkloads.1")

	subject, _ = workloadSubject(reloadPrefix, "blue", workload("bad"))
	publish(t, q, subject, `{`)
	if _, ok, err := q.LastReload(ctx, "blue", workload("bad")); ok || err != nil {
		t.Errorf("last reload: %v, %v", ok, err)
	}
	asideOf(t, q, "reroll.setaside.reloads.1")
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"two\r\nlines":            "two  lines",
		strings.Repeat("ä", 1000): strings.Repeat("ä", maxReason/2),
		"cut \xff here":           "cut  here",
	} {
		if got := strings.ReplaceAll(printable(in), "\uFFFD", ""); got != want {
			t.Errorf("%.20q became %.40q", in, got)
		}
	}
}
