// Command reroll rolls Kubernetes workloads when a ConfigMap or Secret that they use has changed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/reroll-dev/reroll/cmd/reroll/app"
	"github.com/reroll-dev/reroll/cmd/reroll/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := app.Command(version)
	cli.Adapt(root, os.Args[0], os.Args[1:])
	err := root.ExecuteContext(ctx)
	code, tell := cli.ExitCode(err)
	if tell {
		fmt.Fprintln(os.Stderr, "reroll:", cli.Say(err))
	}
	if code != cli.ExitDone {
		os.Exit(code)
	}
}
