package nats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsserver "github.com/nats-io/nats-server/v2/test"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// TestNATSComesBackEmpty: NATS loses all that it has while every role runs. The records of workloads are there again without a restart or a roll, the
// next edit rolls once, and a dispatcher that starts then rolls nothing.
func TestNATSComesBackEmpty(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*lineTime)
	defer cancel()
	at, err := port.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	start := func() *server.Server {
		return natsserver.RunServer(&server.Options{Host: "127.0.0.1", Port: at[0], NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	}
	s := start()
	l, err := line.StartRoles(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "200ms"},
	}, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	ns := l.Kube.Namespace(t)
	createApp(ctx, t, l, ns)
	edit(ctx, t, l, ns, 1)
	waitReloads(ctx, t, l, ns, 1)

	s.Shutdown()
	s.WaitForShutdown()
	s = start()
	t.Cleanup(s.Shutdown)
	wait(ctx, t, l, func(ctx context.Context) error {
		reloads, err := l.Reroll.Reloads(ctx, ns)
		if err == nil && len(reloads) > 0 {
			err = errors.New("the API still answers from before")
		}
		if err != nil {
			return err
		}
		return handled(ctx, l, ns)
	})
	edit(ctx, t, l, ns, 2)
	waitGeneration(ctx, t, l, ns, 3)
	if err := l.Dispatch.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.Dispatch.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Dispatch.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	edit(ctx, t, l, ns, 3)
	waitGeneration(ctx, t, l, ns, 4)
}

// handled returns nil if the API has the record of the Deployment, with its dependency.
func handled(ctx context.Context, l *line.Line, ns string) error {
	n, err := l.Reroll.Baselines(ctx, ns, "web")
	if err == nil && n != 1 {
		err = fmt.Errorf("%d baselines", n)
	}
	return err
}

// waitGeneration waits until the Deployment has a generation, and fails if it has a later one.
func waitGeneration(ctx context.Context, t *testing.T, l *line.Line, ns string, want int64) {
	t.Helper()
	wait(ctx, t, l, func(ctx context.Context) error {
		d, err := l.Kube.Client().AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case d.Generation > want:
			return line.Stop(fmt.Errorf("generation %d, want %d", d.Generation, want))
		case d.Generation < want:
			return fmt.Errorf("generation %d, want %d", d.Generation, want)
		}
		return handled(ctx, l, ns)
	})
}
