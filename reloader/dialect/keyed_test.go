package dialect_test

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestMarkTellsItsKey: the mark that SAP's dialect makes of digests tells their key, and no hash that the tool itself has written does.
func TestMarkTellsItsKey(t *testing.T) {
	const one, two = "0123456789ab", "ba9876543210"
	w := app(annotations{"pod-reloader.cs.sap.com/configmaps": "cm", "pod-reloader.cs.sap.com/secrets": "s"}, nil)
	joint := dialect.SAP().Joint
	values := func(sum, key, other string) []string {
		return joint.Values(w, map[reloader.Config]dialect.Part{
			cm("cm"): {UID: "u", ResourceVersion: "1", Sum: sum, KeyID: key}, sec("s"): {UID: "v", ResourceVersion: "2", Sum: "def", KeyID: other},
		})
	}
	got := values("abc", one, one)
	if key := dialect.KeyOf(got[0]); key != one || workload.MarkValue(got[0]) == "" || len(got[0]) != 64 {
		t.Errorf("the mark %s is under key %q, want %q", got[0], key, one)
	}
	for i, other := range got[1:] {
		if key := dialect.KeyOf(other); key != "" || other == got[0] {
			t.Errorf("value %d, %s, is under key %q", i+1, other, key)
		}
	}
	if again := values("abd", one, one); again[0] == got[0] || dialect.KeyOf(again[0]) != one {
		t.Errorf("other content has the mark %s", again[0])
	}
	if mixed := values("abc", one, two); dialect.KeyOf(mixed[0]) != "" {
		t.Errorf("under two keys it is %s", mixed[0])
	}
	for name, mark := range map[string]string{
		"none": "", "short": got[0][:63], "another key": two + got[0][12:], "upper case": strings.ToUpper(got[0]), "changed at the end": got[0][:63] + "x",
	} {
		if key := dialect.KeyOf(mark); key != "" {
			t.Errorf("%s: %s is under key %q", name, mark, key)
		}
	}
}
