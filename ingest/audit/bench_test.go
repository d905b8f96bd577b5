package audit

import (
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
		lines = append(lines, `{"log":`+quoted(string(encodeObject(b, &all[i])))+"}\n"...)
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
