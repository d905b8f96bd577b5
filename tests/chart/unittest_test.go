package chart_test

import (
	"regexp"
	"testing"
)

var passed = regexp.MustCompile(`(?m)^Test Suites: +([0-9]+) passed, [0-9]+ total$`)

// TestUnits runs the suites of helm/reroll/tests, which say in the words of helm-unittest what a user gets.
func TestUnits(t *testing.T) {
	out, err := tool(t, "helm-unittest", "--strict", "--color=false", chart)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := passed.FindStringSubmatch(out); n == nil || n[1] == "0" {
		t.Errorf("no suite has passed:\n%s", out)
	}
}
