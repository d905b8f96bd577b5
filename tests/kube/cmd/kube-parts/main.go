// Command kube-parts builds the programs that test clusters are made of, unless they are built already, and reports how far it is.
// With -print it also prints the directory they are in.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/reroll-dev/reroll/tests/kube"
)

func main() {
	printDir := flag.Bool("print", false, "print the directory that the parts are in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	binaries, err := kube.Parts(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-parts:", err)
		os.Exit(1)
	}
	if *printDir {
		fmt.Println(binaries.Dir)
	}
}
