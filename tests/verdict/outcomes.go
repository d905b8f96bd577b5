package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is what the paths of all packages begin with.
const module = "github.com/reroll-dev/reroll/"

// outcome is how a test ended: pass, fail or skip, with what a skipped test says. A test that did not end has failed.
type outcome struct {
	Action string `json:"action"`
	Said   string `json:"said,omitempty"`
}

// outcomes are those of tests by their names, such as tests/chaos.TestServe or dispatcher.TestScenarios/auto.
type outcomes map[string]outcome

// name is that of a test with its package, from the root of the repository.
func name(pkg, test string) string { return strings.TrimPrefix(pkg, module) + "." + test }

// add notes an event. What ran several times has passed if it passed each time.
func (o outcomes) add(e event) {
	if e.Test == "" {
		return
	}
	n := name(e.Package, e.Test)
	before := o[n]
	switch e.Action {
	case "run":
		if before.Action == "" {
			o[n] = outcome{Action: "fail"}
		}
	case "output":
		if before.Action == "fail" && len(before.Said) < 2000 && !strings.HasPrefix(e.Output, "=== ") {
			before.Said += e.Output
			o[n] = before
		}
	case "pass":
		o[n] = outcome{Action: "pass"}
	case "skip":
		o[n] = outcome{Action: "skip", Said: strings.TrimSpace(before.Said)}
	case "fail":
		o[n] = outcome{Action: "fail"}
	}
}

// write stores the outcomes in a file.
func (o outcomes) write(file string) error {
	text, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// readOutcomes reads every record of a folder. What was skipped in one run and passed in another has passed; what failed in one has failed.
func readOutcomes(dir string) (outcomes, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no records: make test writes them", dir))
	}
	rank := map[string]int{"": 0, "skip": 1, "pass": 2, "fail": 3}
	all := outcomes{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var found outcomes
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for n, o := range found {
			if rank[o.Action] > rank[all[n].Action] {
				all[n] = o
			}
		}
	}
	return all, nil
}

// fuzzTarget is the part of a name before the seed of a fuzz target.
var fuzzTarget = regexp.MustCompile(`^[^.]+\.Fuzz[A-Za-z0-9_]*/`)

// passedOver reports whether a test is a seed that a fuzz target passes over, as it does with inputs that cannot come, while others pass.
func (o outcomes) passedOver(seed string) bool {
	target := fuzzTarget.FindString(seed)
	if target == "" {
		return false
	}
	for n, other := range o {
		if strings.HasPrefix(n, target) && other.Action == "pass" {
			return true
		}
	}
	return false
}

// unexplained returns an error that lists the tests that were skipped although skips does not allow it.
func (o outcomes) unexplained(allowed []skip) error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(o)) {
		if o[n].Action == "skip" && !o.passedOver(n) && !slices.ContainsFunc(allowed, func(s skip) bool { return s.allows(n) }) {
			errs = append(errs, fmt.Errorf("%s was skipped, and tests/verdict/skips.yaml does not allow that here: %s", n, o[n].Said))
		}
	}
	return errors.Join(errs...)
}
