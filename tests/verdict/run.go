package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// endTime is how long go test may take to end after it was told to.
const endTime = time.Minute

// run runs go test, prints what go test would print, and returns the outcome of every test.
func run(ctx context.Context, command []string, out io.Writer) (outcomes, error) {
	args := append([]string{"test", "-json"}, command[2:]...)
	cmd := exec.CommandContext(ctx, command[0], args...)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, endTime
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &printer{out: out, verbose: slices.Contains(command, "-v"), packages: map[string][]event{}}
	found := outcomes{}
	readErr := read(stream, func(e event) {
		p.print(e)
		found.add(e)
	})
	if err := cmd.Wait(); err != nil {
		return found, errors.Join(fmt.Errorf("go test: %w", err), readErr)
	}
	return found, readErr
}

// read gives every event of a stream to take. A line that is none is one that go test itself printed.
func read(stream io.Reader, take func(event)) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "build-output", Output: line}
			}
			take(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// printer prints of each package what go test prints of it: all of what failed, and one line of what passed.
type printer struct {
	out     io.Writer
	verbose bool
	// packages has the output of packages that have not ended.
	packages map[string][]event
}

func (p *printer) print(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(p.out, e.Output) //nolint:errcheck // nothing can be done about it
	case "output", "pass", "fail", "skip":
		p.packages[e.Package] = append(p.packages[e.Package], e)
		if p.verbose {
			fmt.Fprint(p.out, e.Output) //nolint:errcheck // nothing can be done about it
		}
		if e.Test == "" && e.Action != "output" {
			p.end(e)
			delete(p.packages, e.Package)
		}
	}
}

// end prints a package that has ended.
func (p *printer) end(last event) {
	if p.verbose {
		return
	}
	events := p.packages[last.Package]
	quiet := map[string]bool{} // tests that passed or were skipped
	for _, e := range events {
		if e.Test != "" && (e.Action == "pass" || e.Action == "skip") {
			quiet[e.Test] = true
		}
	}
	for _, e := range events {
		summary := e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "?   \t"))
		if summary || last.Action == "fail" && !quiet[e.Test] && !strings.HasPrefix(e.Output, "=== ") {
			fmt.Fprint(p.out, e.Output) //nolint:errcheck // nothing can be done about it
		}
	}
}
