package reloader_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func TestReloadIDStandsForWorkloadAndContent(t *testing.T) {
	a := reloader.Cause{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: "a"}, NewSum: "11"}
	b := reloader.Cause{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: "b"}, NewSum: "22"}
	id := reloader.ReloadID("local", "u1", []reloader.Cause{a, b})
	if !regexp.MustCompile(`^r-[a-z2-7]{16}$`).MatchString(id) {
		t.Errorf("ReloadID = %q", id)
	}
	later := b
	later.ChangeID, later.OldSum, later.Why = "c-later", "99", reloader.ReasonAuto
	causes := []reloader.Cause{later, a}
	if got := reloader.ReloadID("local", "u1", causes); got != id {
		t.Error("the order of the causes, or how they came about, moved the ID: a crash would roll twice")
	}
	if causes[0].Config != b.Config {
		t.Error("ReloadID sorted its caller's causes")
	}
	other := a
	other.NewSum = "12"
	swapped := []reloader.Cause{{Config: a.Config, NewSum: b.NewSum}, {Config: b.Config, NewSum: a.NewSum}}
	seen := map[string]string{id: "the reload itself"}
	for name, got := range map[string]string{
		"other cluster":   reloader.ReloadID("other", "u1", []reloader.Cause{a, b}),
		"other workload":  reloader.ReloadID("local", "u2", []reloader.Cause{a, b}),
		"other content":   reloader.ReloadID("local", "u1", []reloader.Cause{other, b}),
		"swapped content": reloader.ReloadID("local", "u1", swapped),
		"fewer causes":    reloader.ReloadID("local", "u1", []reloader.Cause{a}),
		"no cause":        reloader.ReloadID("local", "u1", nil),
	} {
		if twin, ok := seen[got]; ok {
			t.Errorf("%s has the ID of %s", name, twin)
		}
		seen[got] = name
	}
}

// TestTook: the time counts from the earliest request, and without what held the reload back on purpose.
func TestTook(t *testing.T) {
	decided := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := reloader.Reload{DecidedAt: decided, PatchedAt: decided.Add(time.Second), Causes: []reloader.Cause{
		{RequestedAt: decided.Add(-2 * time.Second)}, {RequestedAt: decided.Add(-5 * time.Second)}, {},
	}}
	unpatched, unrequested := r, r
	unpatched.PatchedAt, unrequested.Causes = time.Time{}, nil
	for name, c := range map[string]struct {
		reload   reloader.Reload
		heldBack bool
		want     float64
	}{
		"at once": {r, false, 6}, "after a freeze": {r, true, 1}, "not patched": {unpatched, true, 0}, "no request": {unrequested, false, 0},
	} {
		if got := c.reload.Took(c.heldBack); got != c.want {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

func TestEveryReasonIsDescribed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []reloader.Reason
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "Reason" {
			return true
		}
		for i, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if name := spec.Names[i].Name; name != "Reason"+text {
				t.Errorf("%s has the value %q", name, text)
			}
			declared = append(declared, reloader.Reason(text))
		}
		return true
	})
	var described []reloader.Reason
	for _, i := range reloader.Reasons {
		described = append(described, i.Reason)
		if i.Says == "" || strings.ContainsAny(i.Says, ".:") || strings.ToLower(i.Says[:1]) != i.Says[:1] {
			t.Errorf("%s: %q does not read on after a workload's name", i.Reason, i.Says)
		}
	}
	slices.Sort(declared)
	slices.Sort(described)
	if len(declared) == 0 {
		t.Fatal("no reason is declared")
	}
	if diff := cmp.Diff(declared, described); diff != "" {
		t.Errorf("declared reasons (-) and the table (+) differ:\n%s", diff)
	}
}
