package near

import "testing"

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"auto", "auto", 0}, {"auto", "atuo", 1}, {"auto", "aut", 1}, {"auto", "autos", 1}, {"auto", "bute", 2}, {"auto", "search", 3}, {"", "abc", 3}} {
		if got := distance(tc.a, tc.b, 3); got != tc.want {
			t.Errorf("from %q to %q it is %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestWord: a short name has room for few typing errors, and no name is a misspelling of itself.
func TestWord(t *testing.T) {
	for _, tc := range []struct {
		text, want string
		words      []string
	}{
		{"api-pasword", "api-password", []string{"api-passwords", "api-password", "api"}},
		{"API-PASSWORD", "api-password", []string{"api-password"}},
		{"api", "", []string{"api", "web"}},
		{"ab", "", []string{"ac"}},
		{"", "", []string{"a"}},
	} {
		if got, ok := Word(tc.text, tc.words); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%q is taken for %q, want %q", tc.text, got, tc.want)
		}
	}
}
