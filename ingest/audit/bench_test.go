package audit

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// BenchmarkDecode400 decodes the API server's default batch, beside the plain way to do so.
func BenchmarkDecode400(b *testing.B) {
	const events = 400
	list := make([]auditv1.Event, events)
	for i := range list {
		list[i] = realistic(i, "update")
	}
	body := encode(b, list...)
	ways := map[string]func() (int, error){
		"reroll": func() (int, error) {
			got, err := Decode(bytes.NewReader(body), options())
			return len(got.Hints), err
		},
		"encoding-json": func() (int, error) {
			var got auditv1.EventList
			err := json.Unmarshal(body, &got)
			return len(got.Items), err
		},
	}
	for name, decode := range ways {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if n, err := decode(); n != events || err != nil {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryIsBounded(t *testing.T) {
	opts := options()
	opts.Limits.MaxItems = 2_000_000
	cases := map[string]struct {
		body   string
		limit  uint64
		reason string
	}{
		"a million empty events": {list(strings.Repeat("{},", 999_999) + "{}"), 1 << 20, "an event costs nothing until it is kept"},
		"events with bodies": {list(strings.Repeat(item(t, `"annotations"`, `"requestObject":{"data":{"a":"`+strings.Repeat("x", 20_000)+
			`","b":"`+strings.Repeat("y", 20_000)+`"}},"annotations"`)+",", 199) + item(t)), 1 << 20, "bodies are passed over"},
		"deep nesting":     {list(`{"a":` + strings.Repeat(`{"a":`, 9_900) + "1" + strings.Repeat("}", 9_901)), 2 << 20, "depth costs little"},
		"too deep nesting": {list(`{"a":` + nested(10_001) + "}"), 4 << 20, "depth beyond the library's costs little more"},
		"irrelevant events": {
			list(strings.Repeat(item(t, verbText, `"verb":"get"`)+",", 20_000) + "{}"), 1 << 20,
			"what is skipped is not kept",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() { _, err = Decode(strings.NewReader(c.body), opts) })
			if err != nil || got > c.limit {
				t.Errorf("%d bytes allocated for %d, error %v; want at most %d: %s", got, len(c.body), err, c.limit, c.reason)
			}
		})
	}
}
