package kube

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func checkFolded(t testing.TB, objects map[string]string) {
	t.Helper()
	if len(objects) > maxObjects+1 {
		t.Errorf("%d objects were kept", len(objects))
	}
	for id := range objects {
		if len(id) > maxObjectID || !utf8.ValidString(id) {
			t.Errorf("ID of %d bytes: %.300q", len(id), id)
		}
	}
}

func TestFolded(t *testing.T) {
	many := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("object-%05d", i)] = "v1"
		}
		return m
	}
	if diff := cmp.Diff(many(maxObjects), folded(many(maxObjects))); diff != "" {
		t.Errorf("as many as may be were changed:\n%s", diff)
	}
	all := many(10_000)
	before := folded(all)
	checkFolded(t, before)
	all["object-09999"] = "v2"
	if maps.Equal(before, folded(all)) {
		t.Error("a change of the last of many objects is not seen")
	}
}

func TestShortObjectID(t *testing.T) {
	long := strings.Repeat("é", 200)
	ids := []string{"", "db", strings.Repeat("a", maxObjectID), strings.Repeat("a", maxObjectID+1), long + "1", long + "2", "bad\xff", strings.Repeat("\xff", 400)}
	seen := map[string]string{}
	for _, id := range ids {
		short := shortObjectID(id)
		checkFolded(t, map[string]string{short: ""})
		if other, ok := seen[short]; ok {
			t.Errorf("%q and %q became one", id, other)
		}
		seen[short] = id
		if len(id) <= maxObjectID && utf8.ValidString(id) && short != id {
			t.Errorf("%q became %q without need", id, short)
		}
	}
}
