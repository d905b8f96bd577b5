//go:build !race

// The race detector makes the JSON library allocate more.

package audit

import (
	"runtime"
	"strings"
	"testing"
)

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
			var before, after runtime.MemStats
			body := []byte(c.body)
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := Decode(body, opts)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > uint64(len(body)) {
				t.Errorf("%d bytes allocated for %d, error %v: %s", got, len(body), err, c.reason)
			}
		})
	}
}
