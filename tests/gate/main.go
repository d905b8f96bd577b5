// Command gate reads what the gate's test runs have recorded, and prints at the end of a run what a reader wants first: each failed test with a
// line of its cause and the command that repeats it, each test that passed only when it was tried again, and each skip that skips.txt does not allow.
//
//	go run ./tests/gate bin/results
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gate DIRECTORY")
		os.Exit(2)
	}
	ok, err := report(os.Args[1], "tests/gate/skips.txt")
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		ok = false
	}
	if !ok {
		os.Exit(1)
	}
}

// report prints what the files of results in dir say, and reports whether all is well.
func report(dir, skips string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return false, fmt.Errorf("there are no results in %s: %w", dir, err)
	}
	allowed, err := readSkips(skips)
	if err != nil {
		return false, err
	}
	all := newOutcomes()
	for _, file := range files {
		if err := all.read(file); err != nil {
			return false, err
		}
	}
	return all.print(os.Stdout, allowed), nil
}
