// Command demo shows Reroll's main job on a real API server: three users change a ConfigMap and a Secret, and the Deployment that
// uses both rolls. It checks what it shows, and ends with code 1 if anything is not as it says.
//
// With DEMO_EXIT=1 it ends by itself; otherwise it leaves the REST API open until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds the demo, the first build of the control plane included.
const longest = 60 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	say("Preparing etcd, kube-apiserver, kube-controller-manager, kube-scheduler and a fake node.")
	if _, err := kube.Parts(ctx, os.Stdout); err != nil {
		return err
	}
	l, err := line.Start(ctx, line.Options{Progress: os.Stdout})
	if err != nil {
		return err
	}
	defer l.Stop()
	say("A real kube-apiserver runs; its audit webhook is `reroll serve`, over mutual TLS.")

	s := &story{line: l, out: os.Stdout}
	if err := s.tell(ctx); err != nil {
		return errors.Join(err, errors.New("the end of reroll's log:\n"+lastLines(l.Reroll.Log(), 15)))
	}
	if err := s.invite(ctx); err != nil {
		return err
	}
	if os.Getenv("DEMO_EXIT") != "" {
		return nil
	}
	say("Try it yourself, in another terminal (interrupt here to end):")
	fmt.Printf("    export KUBECONFIG=%s\n", l.Kube.Kubeconfig())
	fmt.Println("    kubectl -n shop edit configmap web-settings")
	fmt.Printf("    curl -s '%s/api/v1/reloads?limit=1'\n", l.Reroll.API)
	<-ctx.Done()
	return nil
}

func say(format string, arguments ...any) { fmt.Printf("\n== "+format+"\n", arguments...) }
