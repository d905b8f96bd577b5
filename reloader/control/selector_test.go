package control_test

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader/control"
)

// TestParseSelector: a selector that no labels can match is refused, one that some can match is not.
func TestParseSelector(t *testing.T) {
	for _, text := range []string{
		"", "a", "!a", "a=b", "a!=b", "a in (b,c)", "a,a!=b", "a in (b,c),a!=b", "a notin (another-0,another-1)", "a>3,a<5", "a>9", "a<0", "!a,a!=b", "a=b,c=d",
	} {
		if _, err := control.ParseSelector(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"a=b,a=c", "a,!a", "a=b,a!=b", "a in (b,c),a notin (b,c)", "a>3,a<4", "!a,a=b", "x=y,a=b,a=c"} {
		if _, err := control.ParseSelector(text); err == nil || !strings.Contains(err.Error(), "no object can match") {
			t.Errorf("%q: %v, want that nothing matches", text, err)
		}
	}
}
