package auditlog

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzPlace reads any state file. It is refused in few words, or it is a place that can be saved, read again, and gone on from.
func FuzzPlace(f *testing.F) {
	whole := place{
		Version: placeVersion, Head: hash(nil), Offset: 7,
		Done: order{Since: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Name: "audit-2026-11-21T12-00-00.000.log"},
	}
	saved, err := json.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved)
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"v":1}`, `{"v":2,"offset":1}`, `{"v":1,"offset":-1}`, `{"v":1,"offset":9223372036854775807}`, `{"v":1,"offset":1e3}`,
		`{"v":1,"done":{"since":"yesterday"}}`, `{"v":1,"done":{"name":"../../x\u0000"}}`, `{"v":1} {"v":2}`, strings.Repeat("[", 5000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := parsePlace(content)
		if err != nil {
			if p != nil || len(err.Error()) > 1024 {
				t.Fatalf("%+v with an error of %d bytes", p, len(err.Error()))
			}
			return
		}
		if n := p.headLength(); n < 0 || n > headBytes {
			t.Errorf("%d bytes are to be compared", n)
		}
		path := filepath.Join(t.TempDir(), "state")
		if err := p.save(path); err != nil {
			// Years beyond 9999 cannot be written.
			if p.Done.Since.Year() > 9999 {
				return
			}
			t.Fatal(err)
		}
		again, err := load(path)
		if len(content) <= maxPlaceFile/8 && (err != nil || *again != *p && !again.Done.Since.Equal(p.Done.Since)) {
			t.Errorf("%+v came back as %+v, %v", p, again, err)
		}
	})
}

// FuzzRotated takes any name for that of a rotated file. What it is taken for does not depend on whether it is compressed, and no log is
// taken for a rotated one of its own.
func FuzzRotated(f *testing.F) {
	f.Add("audit.log", "audit-2026-11-21T12-00-00.000.log")
	f.Add("audit.log", "audit.log.1")
	f.Add("audit.log", "audit.log-20261121.gz")
	f.Add("audit", "audit-2026-11-21T12-00-00.000")
	f.Add("", "-")
	f.Add(".log", "-2026-11-21T12-00-00.000.log.gz")
	f.Fuzz(func(t *testing.T, base, name string) {
		if isRotated(base, base) {
			if _, ok := rotatedAt(base, base); !ok {
				t.Errorf("%q is taken for its own rotated file", base)
			}
		}
		plain := strings.TrimSuffix(name, gzipSuffix)
		at, ok := rotatedAt(base, plain)
		again, compressed := rotatedAt(base, plain+gzipSuffix)
		if ok && (!compressed || !at.Equal(again)) {
			t.Errorf("%q is of %s, and compressed of %s: %t", plain, at, again, compressed)
		}
		if ok && !isRotated(base, plain) {
			t.Errorf("%q has a time, and is not taken for a rotated file of %q", plain, base)
		}
	})
}
