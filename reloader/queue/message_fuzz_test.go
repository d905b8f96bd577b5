package queue

import (
	"strings"
	"testing"

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
