package queue

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/reloader"
)

// FuzzParseSubject: whatever is taken for a subject is exactly what would be written for what it names.
func FuzzParseSubject(f *testing.F) {
	for _, s := range []string{
		"reroll.hint.blue.configmap.shop.prices", "reroll.hint.blue.secret.shop._", "reroll.hint.blue.secret.shop.tls=2Eexample", "reroll.hint._._._._",
		"reroll.hint....", "reroll.hint.a.b.c", "reroll.hint.a.b.c.d.e", "reroll.hint.*.>.=2A.=3E", "reroll.hint.a.b.c.=61", "reroll.hint.a.b.c.=2e", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		p, err := parseSubject(hintPrefix, subject)
		if err != nil {
			if len(err.Error()) > 1024 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		if again := join(hintPrefix, p.cluster, p.kind, p.namespace, p.name); again != subject && p.kind == strings.ToLower(p.kind) {
			t.Errorf("%q names %+v, which is written %q", subject, p, again)
		}
		c, err := p.config()
		if err != nil || reloader.ValidateCluster(p.cluster) != nil {
			return
		}
		if again, err := configSubject(hintPrefix, p.cluster, c); err != nil || again != subject {
			t.Errorf("%q names %s, which is written %q, %v", subject, c, again, err)
		}
	})
}

// FuzzPrintable: whatever is to stand in a header is one line of valid text, and no longer than allowed.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a\r\nReroll-Subject: x", "\x00\x7f\xff", strings.Repeat("ä", maxReason), "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		if len(got) > maxReason || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00") {
			t.Errorf("%q became %q", s, got)
		}
	})
}
