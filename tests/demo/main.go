// Command demo shows Reroll's main job on a real API server: three users change a ConfigMap and a Secret, and the Deployment that
// uses both rolls. It checks what it shows, and ends with code 1 if anything is not as it says.
//
// It starts a control plane of its own. With DEMO_EXIT=1 it ends by itself; otherwise it leaves the REST API open until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds the demo, the first build of the control plane included.
const longest = 60 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

// run starts a control plane, whose audit events go to Reroll, and tells the story on it.
func run(ctx context.Context) error {
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
	s := &story{
		client: l.Kube.Client(), reroll: l.Reroll, namespace: "shop", out: os.Stdout,
		as: func(user string) (kubernetes.Interface, error) {
			config := l.Kube.RESTConfig()
			config.Impersonate = rest.ImpersonationConfig{UserName: user}
			return kubernetes.NewForConfig(config)
		},
		who: func(c line.Candidate) string { return c.User },
	}
	if err := s.createUsers(ctx); err != nil {
		return err
	}
	return s.show(ctx, l.Kube.Kubeconfig())
}

// show tells the story and, without DEMO_EXIT, waits for the user to try more of it with a kubeconfig.
func (s *story) show(ctx context.Context, kubeconfig string) error {
	if err := s.tell(ctx); err != nil {
		return errors.Join(err, errors.New("the end of reroll's log:\n"+lastLines(s.reroll.Log(), 15)))
	}
	if err := s.invite(ctx); err != nil {
		return err
	}
	if os.Getenv("DEMO_EXIT") != "" {
		return nil
	}
	say("Try it yourself, in another terminal (interrupt here to end):")
	fmt.Printf("    export KUBECONFIG=%s\n", kubeconfig)
	fmt.Printf("    kubectl -n %s edit configmap web-settings\n", s.namespace)
	fmt.Printf("    curl -s '%s/api/v1/reloads?limit=1'\n", s.reroll.API)
	<-ctx.Done()
	return nil
}

func say(format string, arguments ...any) { fmt.Printf("\n== "+format+"\n", arguments...) }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
