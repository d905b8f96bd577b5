package cli

import (
	"strings"
	"testing"
)

// FuzzGreeting has whatever listens at an address of NATS say anything first.
func FuzzGreeting(f *testing.F) {
	f.Add("INFO {\"version\":\"2.12.1\",\"jetstream\":true,\"tls_required\":false}\r\n")
	f.Add("INFO {\"version\":7}\r\n")
	f.Add("INFO null\n")
	f.Add("220 mail.example.com ESMTP\r\n")
	f.Add("INFO {\"version\":\"\\u001b[2J\"}\n")
	f.Fuzz(func(t *testing.T, line string) {
		g, err := parseGreeting([]byte(line))
		if err == nil && !strings.HasPrefix(line, "INFO ") {
			t.Errorf("%q is taken for NATS", line)
		}
		if err != nil && (g != greeting{} || len(err.Error()) > 100) {
			t.Errorf("refused with %d bytes, and %+v", len(err.Error()), g)
		}
	})
}
