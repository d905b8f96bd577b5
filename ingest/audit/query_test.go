package audit

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzParameters compares with what net/url makes of a query, which is what the API server reads.
func FuzzParameters(f *testing.F) {
	for _, query := range []string{
		"", "a=1&a=2", "dryRun=All", "dry%52un=All&fieldManager=a+b%20c", "?a=?", "a;b&a=c", "a=%zz&a=1", "%zz=1&a", "&&a==&=", "a=1#a=2", "a+b=1",
	} {
		f.Add(query, "a")
		f.Add(query, "dryRun")
	}
	f.Fuzz(func(t *testing.T, query, name string) {
		want, _ := url.ParseQuery(query)
		got := slices.Collect(parameters([]byte("/path?"+query), name))
		// An empty pair is none, and of an empty name nobody asks.
		if name != "" && !slices.Equal(got, want[name]) {
			t.Errorf("%q of %q: got %q, want %q", name, query, got, want[name])
		}
	})
}

// BenchmarkGate is what an event costs once it is read: kubectl names a field manager in every request.
func BenchmarkGate(b *testing.B) {
	e := &event{requestURI: []byte("/api/v1/namespaces/shop/configmaps/settings?fieldManager=argocd-controller&fieldValidation=Strict&force=true"), verb: []byte("patch")}
	b.ReportAllocs()
	for b.Loop() {
		if isDryRun(e) || !strings.HasPrefix(fieldManager(e.requestURI), "argocd") {
			b.Fatal("wrong")
		}
	}
}
