package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/dialect"
)

const selector = "reroll.dev/configmap-selector"

func TestFaultySelectors(t *testing.T) {
	for text, want := range map[string]string{
		"a==b,":                           `"a==b," is not a label selector, such as app=web,tier in (front,back); it selects nothing`,
		"a in b":                          `"a in b" is not a label selector, such as app=web,tier in (front,back); it selects nothing`,
		" ":                               "a selector that asks for nothing would select everything; a glob * in a list says that; it selects nothing",
		strings.Repeat("a", 3e3):          "the selector has 3000 bytes, more than 2048; it selects nothing",
		"a" + strings.Repeat(",a!=b", 16): "the selector has 17 requirements, more than 16; it selects nothing",
	} {
		got := dialect.Set{dialect.Own()}.Compile(app(annotations{selector: text}, nil))
		if diff := cmp.Diff([]string{selector + ": " + want}, got.Problems); !got.OptedIn() || diff != "" || len(got.Patterns) > 0 {
			t.Errorf("%.20q: opted in %v, patterns %v (-want +got):\n%s", text, got.OptedIn(), got.Patterns, diff)
		}
	}
}
