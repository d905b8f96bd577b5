// Command kube-parts builds the programs that test clusters are made of, unless they are built already, and reports how far it is.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/reroll-dev/reroll/tests/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := kube.Parts(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "kube-parts:", err)
		os.Exit(1)
	}
}
