package queue

import (
	"strings"
	"testing"
)

// FuzzOrigin reads where a record comes from, as a header of a message tells.
func FuzzOrigin(f *testing.F) {
	f.Add("20261121T120000.000000000 17", "20261121T120000.000000000+1 18")
	f.Add(" ", "x")
	f.Add("a 18446744073709551616", "a -1")
	f.Fuzz(func(t *testing.T, text, other string) {
		o := parseOrigin(text)
		if o == (origin{}) {
			return
		}
		if again := parseOrigin(o.String()); again != o {
			t.Errorf("%q is %+v, which is written %q and read %+v", text, o, o, again)
		}
		if !o.has(o) || o.has(parseOrigin(other)) && parseOrigin(other).has(o) && parseOrigin(other) != o {
			t.Errorf("%q and %q each have what the other has, and are not the same", text, other)
		}
	})
}

// TestAStreamThatWasSetBackHasWhatItHadBefore: up to there its records are those of before.
func TestAStreamThatWasSetBackHasWhatItHadBefore(t *testing.T) {
	for name, c := range map[string]struct {
		at, from string
		want     bool
	}{
		"the same":                      {"s 7", "s 7", true},
		"an earlier one":                {"s 7", "s 6", true},
		"a later one":                   {"s 7", "s 8", false},
		"of before":                     {"s 7", "s+9 7", true},
		"the last of before":            {"s 9", "s+9 9", true},
		"of after, with the same place": {"s 12", "s+9 10", false},
		"later than all of before":      {"s 7", "s+9 8", false},
		"another stream":                {"s 7", "r+9 7", false},
		"no number":                     {"s 7", "s+x 7", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseOrigin(c.at).has(parseOrigin(c.from)); got != c.want {
				t.Errorf("where %q is, %q is had: %t", c.at, c.from, got)
			}
		})
	}
}

// FuzzServers reads the addresses of NATS that a flag gives, and the version that a server tells.
func FuzzServers(f *testing.F) {
	f.Add("nats://u:hunter2@x:4222, tls://y", "2.12.1", "2.11")
	f.Add("u:hunter2@[::1]", "2", "")
	f.Add("nats://%zz:hunter2@x", "-1.9", "2.10.0-RC1")
	f.Add(",", "99999999999999999999.1", "1.1")
	f.Fuzz(func(t *testing.T, list, version, than string) {
		if older(version, than) && older(than, version) {
			t.Errorf("%q and %q are each older than the other", version, than)
		}
		const password = "hunter2"
		if !strings.Contains(list, ":"+password+"@") || strings.Count(list, password) > 1 {
			return
		}
		if err := validateURLs(list); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the error tells a password: %v", err)
		}
		if shown := redacted(list); strings.Contains(shown, password) {
			t.Errorf("%q is shown as %q", list, shown)
		}
	})
}
