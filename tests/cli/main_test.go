package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/contract"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds the whole test, on a machine that has much else to do, and waitTime each wait in it.
const (
	testTime = 5 * time.Minute
	waitTime = time.Minute
)

// desk is where somebody sits who has a kubeconfig, and kubectl and reroll in the PATH.
type desk struct {
	t      *testing.T
	ctx    context.Context
	line   *line.Line
	ns     string
	binary string
	// wire holds every request of the binary and its answer against the document that the API serves, and server is the URL of its near end.
	wire   *contract.Wire
	server string
	// bin is a folder with the binary under the names by which kubectl knows it.
	bin string
}

// newDesk starts a line whose API server has the policy that reroll prints.
func newDesk(t *testing.T) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	d := &desk{t: t, ctx: ctx, bin: t.TempDir()}
	var err error
	d.binary, err = line.Build(ctx)
	d.must(err)
	for _, name := range []string{"reroll", "kubectl-reroll", "kubectl_complete-reroll"} {
		d.must(os.Symlink(d.binary, filepath.Join(d.bin, name)))
	}
	policy, err := exec.CommandContext(ctx, d.binary, "audit", "setup", "--for", "kubeadm", "--print", "policy").Output()
	d.must(err)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	d.must(os.WriteFile(file, policy, 0o600))
	d.line, err = line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, APIServerFlags: []string{"--audit-policy-file=" + file}},
		Flags: []string{"--set", "debounce.window=0s", "--set", "resyncInterval=1h", "--set", "ingest.canaryInterval=1s"},
	})
	d.must(err)
	t.Cleanup(d.line.Stop)
	d.tap()
	d.ns = d.line.Kube.Namespace(t)
	return d
}

// tap puts the wire between the binary and the API.
func (d *desk) tap() {
	d.t.Helper()
	transport := &http.Transport{}
	d.t.Cleanup(transport.CloseIdleConnections)
	var err error
	d.wire, err = contract.Tap(d.ctx, transport, d.line.Reroll.API)
	d.must(err)
	api, err := url.Parse(d.line.Reroll.API)
	d.must(err)
	near := httptest.NewServer(d.wire.Handler(api))
	d.t.Cleanup(near.Close)
	d.server = near.URL
}

// kept fails if anything that went over the wire was against the contract, or if exchanges of some kinds did not go over it.
func (d *desk) kept(kinds ...string) {
	d.t.Helper()
	d.must(d.wire.Faults())
	seen := d.wire.Seen()
	for _, kind := range kinds {
		if seen[kind] == 0 {
			d.t.Errorf("no exchange %q was held against the contract, only %v", kind, seen)
		}
	}
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// environment is that of a shell at the desk.
func (d *desk) environment() []string {
	path := d.bin + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(os.Environ(), "REROLL_SERVER="+d.server, "KUBECONFIG="+d.line.Kube.Kubeconfig(), "PATH="+path)
}

// command is one call of the binary.
func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, d.binary, args...)
	cmd.Env = d.environment()
	return cmd
}

// reroll runs the binary, which must end with a code, and returns what it printed.
func (d *desk) reroll(code int, args ...string) string {
	d.t.Helper()
	cmd := d.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		d.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		d.t.Fatalf("reroll %s: code %d, want %d:\n%s%s", strings.Join(args, " "), got, code, output, stderr.String())
	}
	return string(output)
}

// waitFor runs the binary until what it prints has a text.
func (d *desk) waitFor(text string, args ...string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, waitTime)
	defer cancel()
	var last []byte
	err := line.Poll(ctx, func(context.Context) error {
		output, err := d.command(args...).Output()
		if err == nil {
			last = output
		}
		if err != nil || !strings.Contains(string(output), text) {
			return fmt.Errorf("reroll %s prints no %q: %v", strings.Join(args, " "), text, err)
		}
		return nil
	})
	if err != nil {
		d.t.Fatalf("%v:\n%s", err, last)
	}
}

// watch starts to watch, does something once nothing can be missed any more, and returns the ID of the next reload.
func (d *desk) watch(do func()) (id string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, waitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.binary, "get", "reloads", "-n", d.ns, "-w", "-o", "name")
	cmd.Env = d.environment()
	output, err := cmd.StdoutPipe()
	d.must(err)
	known := d.reroll(0, "get", "reloads", "-n", d.ns, "-o", "name")
	d.must(cmd.Start())
	do()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if id = lines.Text(); !strings.Contains(known, id) {
			break
		}
	}
	cancel()
	_ = cmd.Wait()
	if id == "" {
		d.t.Fatal("the watch has ended without a reload")
	}
	return id
}

// next runs the last of the next commands that a command prints, as it is printed, which must end with a code.
func (d *desk) next(code int, args ...string) {
	d.t.Helper()
	said := d.reroll(0, args...)
	i := strings.LastIndex(said, "Next: ")
	if i < 0 {
		d.t.Fatalf("reroll %s names no next command:\n%s", strings.Join(args, " "), said)
	}
	line, _, _ := strings.Cut(said[i+len("Next: "):], "\n")
	cmd := exec.CommandContext(d.ctx, "sh", "-c", line)
	cmd.Env = d.environment()
	if output, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code {
		d.t.Fatalf("%s: code %d, want %d: %s", line, cmd.ProcessState.ExitCode(), code, output)
	}
}

// objects are a Deployment that reloads, and the ConfigMap that it uses.
const objects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: low}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/main, envFrom: [{configMapRef: {name: settings}}]}]}
`

// sleepers use a ConfigMap, and some changes of it are nothing to either of them.
const sleepers = `
apiVersion: v1
kind: ConfigMap
metadata: {name: rates}
data: {tax: "7", debug: "0"}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/main, envFrom: [{configMapRef: {name: rates}}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: picky, labels: {app: picky}, annotations: {reloader.stakater.com/auto: "true", reroll.dev/keys: tax}}
spec:
  selector: {matchLabels: {app: picky}}
  template:
    metadata: {labels: {app: picky}}
    spec: {containers: [{name: main, image: example.com/main, envFrom: [{configMapRef: {name: rates}}]}]}
`

// apply gives manifests to kubectl.
func (d *desk) apply(manifests string) {
	d.t.Helper()
	cmd := d.line.Kube.Command(d.ctx, "apply", "-n", d.ns, "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if output, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("kubectl apply: %v: %s", err, output)
	}
}

// kubectl runs kubectl, which finds its plugins in the PATH.
func (d *desk) kubectl(args ...string) string {
	d.t.Helper()
	cmd := d.line.Kube.Command(d.ctx, args...)
	cmd.Env = append(cmd.Env, d.environment()...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, output)
	}
	return string(output)
}
