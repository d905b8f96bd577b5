package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is what `go test -json` prints, as far as it is of interest here.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// outcome is what became of one test, or of a package where test is empty.
type outcome struct {
	pkg, test string
	passed    int
	failed    int
	skipped   int
	system    bool
	output    []string
}

// outcomes has them by package and test.
type outcomes map[string]*outcome

func newOutcomes() outcomes { return outcomes{} }

// read adds the events of a file.
func (o outcomes) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		o.add(e, strings.HasSuffix(file, "system.json"))
	}
	return lines.Err()
}

// maxOutput is how many lines of a test's output are kept.
const maxOutput = 400

func (o outcomes) add(e event, system bool) {
	pkg := e.Package
	if pkg == "" {
		pkg = e.ImportPath // of a package that does not build
	}
	one := o[pkg+" "+e.Test]
	if one == nil {
		one = &outcome{pkg: pkg, test: e.Test, system: system}
		o[pkg+" "+e.Test] = one
	}
	switch e.Action {
	case "pass":
		one.passed++
	case "fail", "build-fail":
		one.failed++
	case "skip":
		one.skipped++
	case "output", "build-output":
		if len(one.output) < maxOutput {
			one.output = append(one.output, strings.TrimRight(e.Output, "\n"))
		}
	}
}

// print writes the summary and reports whether all is well.
func (o outcomes) print(w io.Writer, allowed map[string]bool) bool {
	var passed, failed, skipped int
	var red, flaked, silent []*outcome
	for _, key := range slices.Sorted(maps.Keys(o)) {
		one := o[key]
		switch {
		case one.test == "" && (one.failed == 0 || one.passed > 0 || o.hasFailedTest(one.pkg)):
		case one.failed > 0 && one.passed > 0:
			flaked = append(flaked, one)
		case one.failed > 0 && !o.hasFailedChild(one):
			failed++
			red = append(red, one)
		case one.skipped > 0:
			skipped++
			if !allowed[one.name()] {
				silent = append(silent, one)
			}
		case one.passed > 0:
			passed++
		}
	}
	for _, one := range flaked {
		fmt.Fprintf(w, "FLAKED %s: %s\n", one.name(), one.cause())
	}
	for _, one := range silent {
		fmt.Fprintf(w, "SKIPPED %s: tests/gate/skips.txt does not list it\n", one.name())
	}
	for _, one := range red {
		fmt.Fprintf(w, "FAILED %s: %s\n    %s\n", one.name(), one.cause(), one.command())
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d flaked, %d skipped\n", passed, failed, len(flaked), skipped)
	return len(red) == 0 && len(silent) == 0
}

// hasFailedTest reports whether a test of a package failed, which then stands for the package.
func (o outcomes) hasFailedTest(pkg string) bool {
	for _, one := range o {
		if one.pkg == pkg && one.test != "" && one.failed > 0 {
			return true
		}
	}
	return false
}

// hasFailedChild reports whether a test failed for one of its own that did.
func (o outcomes) hasFailedChild(parent *outcome) bool {
	for _, one := range o {
		if one.pkg == parent.pkg && one.failed > 0 && strings.HasPrefix(one.test, parent.test+"/") {
			return true
		}
	}
	return false
}

// name is the package, without the module, and the test.
func (o *outcome) name() string {
	pkg := strings.TrimPrefix(o.pkg, "github.com/reroll-dev/reroll/")
	if o.test == "" {
		return pkg
	}
	return pkg + "." + o.test
}

// place begins the lines in which a test says why it failed.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+:|^panic:|DATA RACE|^\S+\.go:\d+:\d+:`)

// cause is the first line that says why the test failed.
func (o *outcome) cause() string {
	for _, line := range o.output {
		if place.MatchString(line) {
			return strings.TrimSpace(line[:min(len(line), 300)])
		}
	}
	if len(o.output) > 0 {
		return strings.TrimSpace(o.output[len(o.output)-1])
	}
	return "no output"
}

// command repeats the test.
func (o *outcome) command() string {
	rig := ""
	if o.system {
		rig = "go run ./tests/line/cmd/rig "
	}
	run := ""
	if o.test != "" {
		parts := strings.Split(o.test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		run = " -run '" + strings.Join(parts, "/") + "'"
	}
	pkg, _, _ := strings.Cut(strings.TrimPrefix(o.pkg, "github.com/reroll-dev/reroll/"), " ")
	return rig + "go test -count=1 -v" + run + " ./" + pkg
}

// readSkips reads the names of tests that may be skipped, one a line, with the reason behind a #.
func readSkips(file string) (map[string]bool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		name, _, _ := strings.Cut(line, "#")
		if name = strings.TrimSpace(name); name != "" {
			allowed[name] = true
		}
	}
	return allowed, nil
}
