package queue

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

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

// unreadableOf returns how many messages of a stream could not be read.
func unreadableOf(t *testing.T, r prometheus.Gatherer, stream string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "reroll_queue_unreadable_total" && m.GetLabel()[0].GetValue() == stream {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no reroll_queue_unreadable_total of %s", stream)
	return 0
}

func TestUnreadableHintsAreOutOfTheWay(t *testing.T) {
	foreign, err := reloader.Encode(hint("other"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"garbage":            "\x00{",
		"a newer version":    `{"v":99,"cluster":"blue"}`,
		"names":              `{"v":1,"cluster":"blue","config":{"kind":"Secret","namespace":"*","name":"a"}}`,
		"a foreign subject":  string(foreign),
		"more than a record": strings.Repeat("x", 900<<10),
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			q := open(t, Options{Registerer: r})
			subject, _ := configSubject(hintPrefix, "blue", config("a"))
			publish(t, q, subject, data)
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
			if n := unreadableOf(t, r, hintsStream); n != 1 {
				t.Errorf("%v are counted", n)
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
	appendChange(t, q, change("a", "1"), sequence)
}

func TestUnreadableRecordsAreLeftOut(t *testing.T) {
	r := prometheus.NewRegistry()
	q := open(t, Options{Registerer: r})
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

	subject, _ = workloadSubject(reloadPrefix, "blue", workload("bad"))
	publish(t, q, subject, `{`)
	if _, ok, err := q.LastReload(ctx, "blue", workload("bad")); ok || err != nil {
		t.Errorf("last reload: %v, %v", ok, err)
	}
	for _, stream := range []string{workloadsStream, reloadsStream} {
		if n := unreadableOf(t, r, stream); n != 1 {
			t.Errorf("%s: %v are counted", stream, n)
		}
	}
}
