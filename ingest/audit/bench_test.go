package audit

import (
	"runtime"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// BenchmarkDecode1000 decodes a thousand events, as the webhook gets them and as a shipper posts the lines of a log.
func BenchmarkDecode1000(b *testing.B) {
	const events = 1000
	all := make([]auditv1.Event, events)
	var lines []byte
	for i := range all {
		all[i] = realistic(i, "update")
		lines = append(lines, `{"log":`+quoted(string(encodeEvent(b, all[i])))+"}\n"...)
	}
	for name, c := range map[string]struct {
		body   []byte
		decode func([]byte, Options) (Result, error)
	}{"webhook": {encode(b, all...), Decode}, "shipped": {lines, DecodeShipped}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if got, err := c.decode(c.body, options()); len(got.Hints) != events || err != nil {
					b.Fatal(len(got.Hints), err)
				}
			}
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
	withBodies := item(t, `"annotations"`, `"requestObject":{"data":{"a":"`+strings.Repeat("x", 20_000)+`"}},"annotations"`)
	for name, c := range map[string]struct{ body, reason string }{
		"a million empty events": {list(strings.Repeat("{},", 999_999) + "{}"), "an event costs nothing until it is kept"},
		"events with bodies":     {list(strings.Repeat(withBodies+",", 199) + item(t)), "bodies are passed over"},
		"a million addresses":    {list(item(t, `["1.1.1.1",`, "["+strings.Repeat(`"",`, 1_000_000))), "the last one counts"},
		"irrelevant events":      {list(strings.Repeat(item(t, verbText, `"verb":"get"`)+",", 20_000) + "{}"), "what is skipped is not kept"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			body := []byte(c.body)
			if got := allocated(func() { _, err = Decode(body, opts) }); err != nil || got > uint64(len(body)) {
				t.Errorf("%d bytes allocated for %d, error %v: %s", got, len(body), err, c.reason)
			}
		})
	}
}
