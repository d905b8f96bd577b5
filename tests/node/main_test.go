//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const (
	// wanted is the variable that says that a node may be started.
	wanted = "NODE_TEST"
	// inside is the variable that says where the node's folder is, and that this process is the first of the node.
	inside = "NODE_TEST_DIR"
)

var (
	// shared is the node of all tests.
	shared *node
	// noNode says that there is none, and why.
	noNode string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if dir := os.Getenv(inside); dir != "" {
		return runInside(m, dir)
	}
	if os.Getenv(wanted) == "" {
		noNode = "it starts a node with containers: make node does so, as root"
		return m.Run(), nil
	}
	if err := lacking(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "reroll-node-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the folder for what may go
	if err := build(dir); err != nil {
		return 1, err
	}
	return again(dir)
}

// lacking returns what a node needs and is not there, and nil if all is.
func lacking() error {
	if os.Geteuid() != 0 {
		return errors.New("a kubelet and containers need root")
	}
	if _, err := pluginDir(); err != nil {
		return err
	}
	for program, packaged := range map[string]string{"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2", "iptables": "iptables", "apt-get": "apt", "dpkg-deb": "dpkg"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no %s here (package %s)", program, packaged)
		}
	}
	return nil
}

// pluginDir returns where the plugins of CNI are.
func pluginDir() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("there are no plugins of CNI here (package containernetworking-plugins)")
}

// build builds all that is needed of sources, while there is a network to fetch them from.
func build(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := kube.Parts(ctx, os.Stderr); err != nil {
		return err
	}
	if _, err := kube.NodeParts(ctx, os.Stderr); err != nil {
		return err
	}
	if _, err := line.Build(ctx); err != nil {
		return err
	}
	if _, err := tools.Path(ctx, "helm"); err != nil {
		return err
	}
	if err := tools.Prometheus(ctx, prometheusFile(dir)); err != nil {
		return err
	}
	if err := fetchNginx(ctx, dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir, "./pause", "./reader")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs that wait and that reload: %w: %s", err, out)
	}
	return nil
}

// again runs the tests in namespaces of their own and returns their exit code.
func again(dir string) (int, error) {
	groups, err := makeGroups(filepath.Base(dir))
	defer removeGroups(groups)
	if err != nil {
		return 1, err
	}
	// The kernel takes the end of the thread that starts it for the end of this process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Anyone who interrupts this one interrupts that one as well: its end is waited for.
	signal.Ignore(os.Interrupt)
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// runInside isolates this process, the first of its namespaces, and runs the tests with a node.
func runInside(m *testing.M, dir string) (int, error) {
	if err := isolate(dir); err != nil {
		return 1, fmt.Errorf("isolate the node: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	var err error
	if shared, err = startNode(ctx, dir); err != nil {
		return 1, fmt.Errorf("start the node: %w", err)
	}
	defer shared.stop()
	return m.Run(), nil
}

// need returns the node of all tests, or skips the test if no user asked for one.
func need(t *testing.T) *node {
	t.Helper()
	if noNode != "" {
		t.Skip(noNode)
	}
	return shared
}

// output runs a program and returns what it prints; the error has what it complains about.
func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return string(out), nil
}
