// Command verdict runs go test and judges what it reports. A test that was skipped is a failure unless skips.yaml lists it with its reason;
// what ran is kept in a record, against which the proofs of the comparison table are checked.
//
//	go run ./tests/verdict -record bin/results/unit.json go test -race ./...
//	go run ./tests/verdict -proofs bin/results
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	record := flag.String("record", "", "file for the outcome of every test")
	proofs := flag.String("proofs", "", "folder of records; the command checks that every proof of the comparison table passed")
	skips := flag.String("skips", "tests/verdict/skips.yaml", "list of the tests that may be skipped")
	flag.Parse()
	// go test receives the same signals; its end is waited for, so that what it reported is not lost.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Ignore(os.Interrupt)
	if err := judge(ctx, *record, *proofs, *skips, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// judge checks proofs against records, or runs a command of go test.
func judge(ctx context.Context, record, proofs, skips string, command []string) error {
	if proofs != "" {
		return checkProofs(proofs)
	}
	if len(command) < 2 || command[0] != "go" || command[1] != "test" {
		return errors.New("usage: verdict [-record FILE] go test ARGUMENTS")
	}
	allowed, err := readSkips(skips)
	if err != nil {
		return err
	}
	outcomes, err := run(ctx, command, os.Stdout)
	if record != "" {
		err = errors.Join(err, outcomes.write(record))
	}
	return errors.Join(err, outcomes.unexplained(allowed))
}
