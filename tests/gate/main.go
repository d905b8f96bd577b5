// Command gate reads what gotestsum has recorded of the gate's test runs, and prints at the end of a run what a reader wants first: each failed test
// with a line of its cause and the command that repeats it, each test that passed only when it was tried again, and each skipped test, of which the
// gate has none.
//
//	go run ./tests/gate bin/results
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/reroll-dev/reroll/"

// outcome is what became of a test, or of a package where the test's name is empty.
type outcome struct {
	pkg, test, cause        string
	passed, failed, skipped bool
	// rig says that the test needs a control plane.
	rig bool
}

func main() {
	var ok bool
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.json"))
	if err == nil {
		ok, err = report(os.Stdout, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// report prints what the files say, and reports whether all is well.
func report(w io.Writer, files []string) (bool, error) {
	all := map[string]*outcome{}
	for _, file := range files {
		if err := read(all, file); err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
	}
	counts := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		o := all[key]
		switch {
		case o.failed && inner(all, key), o.test == "" && !o.failed:
		case o.failed && o.passed:
			counts["flaked"]++
			fmt.Fprintf(w, "FLAKED %s: %s\n", key, o.cause)
		case o.failed:
			counts["failed"]++
			fmt.Fprintf(w, "FAILED %s: %s\n    %s\n", key, o.cause, o.command())
		case o.skipped:
			counts["skipped"]++
			fmt.Fprintf(w, "SKIPPED %s: the gate skips nothing\n", key)
		default:
			counts["passed"]++
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d flaked, %d skipped\n", counts["passed"], counts["failed"], counts["flaked"], counts["skipped"])
	return counts["passed"] > 0 && counts["failed"]+counts["skipped"] == 0, nil
}

// place begins the lines in which a test says why it failed.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+:|^panic:|DATA RACE`)

// read adds the events of `go test -json` in a file.
func read(all map[string]*outcome, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output, ImportPath string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		// A package that does not build has an import path alone, with the name of the test binary behind it.
		pkg, _, _ := strings.Cut(strings.TrimPrefix(cmp.Or(e.Package, e.ImportPath), module), " ")
		key := strings.TrimSuffix(pkg+"."+e.Test, ".")
		o := all[key]
		if o == nil {
			o = &outcome{pkg: pkg, test: e.Test, cause: "no output", rig: filepath.Base(file) == "system.json"}
			all[key] = o
		}
		switch e.Action {
		case "pass":
			o.passed = true
		case "fail", "build-fail":
			o.failed = true
		case "skip":
			o.skipped = true
		case "output", "build-output":
			if !place.MatchString(o.cause) && strings.TrimSpace(e.Output) != "" {
				o.cause = strings.TrimSpace(e.Output[:min(len(e.Output), 300)])
			}
		}
	}
	return lines.Err()
}

// inner reports whether something inside a failed test or package failed, which stands for it.
func inner(all map[string]*outcome, key string) bool {
	for other, o := range all {
		if o.failed && (strings.HasPrefix(other, key+"/") || all[key].test == "" && o.test != "" && o.pkg == key) {
			return true
		}
	}
	return false
}

// command repeats the test.
func (o *outcome) command() string {
	command := "go test -count=1 -v"
	if o.rig {
		command = "go run ./tests/line/cmd/rig " + command
	}
	if o.test != "" {
		command += " -run '^" + strings.ReplaceAll(regexp.QuoteMeta(o.test), "/", "$/^") + "$'"
	}
	return command + " ./" + o.pkg
}
