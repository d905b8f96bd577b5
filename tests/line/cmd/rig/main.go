// Command rig starts one control plane, runs a command that may use it, and stops it:
//
//	go run ./tests/line/cmd/rig go test ./tests/...
//
// The command finds the control plane through REROLL_RIG. The exit code is that of the command. Where it is not 0, the logs of
// etcd, kube-apiserver and Reroll are copied to bin/artifacts/rig.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// artifacts is where the logs of a run that failed are kept.
const artifacts = "bin/artifacts/rig"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rig:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, command []string) (int, error) {
	if len(command) == 0 {
		return 0, errors.New("name the command to run")
	}
	begun := time.Now()
	cluster, dir, err := line.Share(ctx)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(filepath.Dir(dir)) //nolint:errcheck // they are temporary files
	defer cluster.Stop()
	fmt.Printf("rig: a control plane is ready after %.0f s\n", time.Since(begun).Seconds())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), kube.SharedVariable+"="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		_ = os.RemoveAll(artifacts) // of an earlier run
		if err := os.CopyFS(artifacts, os.DirFS(filepath.Join(dir, "logs"))); err != nil {
			fmt.Fprintln(os.Stderr, "rig: keep the logs:", err)
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}
