package ui

import (
	"strings"
	"testing"
)

// FuzzHeaders asks for a file as browsers do: what they have already, and which codings they take.
func FuzzHeaders(f *testing.F) {
	f.Add("gzip;q=0.5, br", `W/"abc", *`)
	f.Add("identity;q=1, gzip;q=nan", `"`)
	f.Add("gzip;q=0", "")
	etag := files()["index.html"].etag
	f.Fuzz(func(t *testing.T, coding, tags string) {
		if acceptsGzip(coding) && !strings.Contains(strings.ToLower(coding), "gzip") {
			t.Errorf("%q is taken to accept gzip", coding)
		}
		if matches(tags, etag) && !strings.Contains(tags, etag) && !strings.Contains(tags, "*") {
			t.Errorf("%q is taken for %q", tags, etag)
		}
		if !matches(tags+", "+etag, etag) {
			t.Errorf("%q behind %q is not found", etag, tags)
		}
	})
}
