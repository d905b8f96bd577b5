// Command reroll rolls Kubernetes workloads when a ConfigMap or Secret that they use has changed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/reroll-dev/reroll/cmd/reroll/app"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := app.Command(version).ExecuteContext(ctx); err != nil {
		// Whoever reads it may read by lines.
		fmt.Fprintln(os.Stderr, "reroll:", strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}
