package auditlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSiblings(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i, name := range []string{
		"audit.log", "audit.log.place", "audit.log.place.new", "audit-policy.log", "other.log", "audit-2026-11-21.log.old", "audit.log.3.gz",
		"audit.log.2", "audit.log.2.gz", "audit.log-20261121", "audit-2026-11-21T11-00-00.000.log", "audit-2026-11-21T12-30-00.000.log.gz",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		written := at.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "audit.log.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := siblings(filepath.Join(dir, "audit.log"), filepath.Join(dir, "audit.log.place"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(all []sibling) string {
		var out []string
		for _, s := range all {
			out = append(out, s.Name)
		}
		return strings.Join(out, " ")
	}
	want := "audit-2026-11-21T11-00-00.000.log audit.log.3.gz audit.log.2 audit.log-20261121 audit-2026-11-21T12-30-00.000.log.gz"
	if diff := cmp.Diff(want, names(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("audit.log-20261121 audit-2026-11-21T12-30-00.000.log.gz", names(after(all, all[2].order))); diff != "" {
		t.Errorf("after the third (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, names(after(all, order{}))); diff != "" {
		t.Errorf("after nothing (-want +got):\n%s", diff)
	}
}
