package newcomer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds the whole test, on a machine that has much else to do.
const testTime = 10 * time.Minute

// desk is the environment of a user with a kubeconfig, and with kubectl and reroll in the PATH.
type desk struct {
	*guide.Reader
	t    *testing.T
	ctx  context.Context
	line *line.Line
}

// newDesk returns a desk with a line of its own.
func newDesk(t *testing.T) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	d := &desk{Reader: guide.NewReader(t, "../.."), t: t, ctx: ctx}
	var err error
	d.line, err = line.Start(ctx, line.Options{Flags: []string{"--set", "debounce.window=0s", "--set", "resyncInterval=1h"}})
	d.must(err)
	t.Cleanup(d.line.Stop)
	for _, name := range []string{"kubectl-reroll", "kubectl_complete-reroll"} {
		d.Link(t, name, filepath.Join(d.Dir, "bin", "reroll"))
	}
	d.Link(t, "kubectl", d.line.Kube.Command(ctx).Path)
	d.Env = append(d.Env, "REROLL_SERVER="+d.line.Reroll.API, "KUBECONFIG="+d.line.Kube.Kubeconfig())
	return d
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// command is a shell with commands.
func (d *desk) command(ctx context.Context, commands string, environment ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-euc", commands)
	cmd.Env = append(slices.Clone(d.Env), environment...)
	return cmd
}

// shell runs commands in a namespace, and returns what they print on both streams.
func (d *desk) shell(namespace, commands string) (string, error) {
	out, err := d.command(d.ctx, commands, "NAMESPACE="+namespace).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", commands, err, out)
	}
	return string(out), err
}

// apply makes objects.
func (d *desk) apply(namespace, objects string) {
	d.t.Helper()
	cmd := d.command(d.ctx, "kubectl -n "+namespace+" apply -f -")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(objects, "$NAMESPACE", namespace))
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
}

// said is what reroll explain prints: the state and the cause in the first line, and the next command in the last.
type said struct{ cause, next string }

// explain returns what reroll explains. It ignores the exit code, which is not 0 for a workload that is not on record.
func (d *desk) explain(ref string) (s said) {
	out, _ := d.command(d.ctx, "reroll explain "+ref).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	s.cause = lines[0]
	s.next, _ = strings.CutPrefix(lines[len(lines)-1], "Next: ")
	if len(lines) == 1 || s.next == lines[len(lines)-1] {
		s.next = ""
	}
	return s
}

// await waits until an explanation is as it should be, and returns it.
func (d *desk) await(ref string, right func(said) bool) (s said) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, time.Minute)
	defer cancel()
	err := line.Poll(ctx, func(context.Context) error {
		if s = d.explain(ref); !right(s) {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		d.t.Errorf("explain %s: %+v", ref, s)
	}
	return s
}

// try runs a next command as it is printed. It works if it ends well, answers no, or follows a rollout that continues; an editor changes nothing.
func (d *desk) try(command string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	cmd := d.command(ctx, "exec "+command, "KUBE_EDITOR=true")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	answered := strings.HasPrefix(command, "reroll check") && !strings.Contains(stderr.String(), "reroll:")
	follows := strings.Contains(command, "rollout status") && ctx.Err() != nil
	if err != nil && !answered && !follows {
		d.t.Errorf("%s: %v: %s", command, err, stderr.String())
	}
}

func (f fault) ref(namespace string) string { return namespace + "/" + cmp.Or(f.ask, "Deployment/web") }

// TestFaults: the first line of explain names the cause and the next command, and so does the status if something needs attention.
func TestFaults(t *testing.T) {
	d := newDesk(t)
	namespaces := map[string]string{}
	for name, f := range faults {
		namespaces[name] = d.line.Kube.Namespace(t)
		d.apply(namespaces[name], f.objects)
	}
	for name, f := range faults {
		d.await(f.ref(namespaces[name]), func(s said) bool {
			return !strings.Contains(s.cause, "has not recorded yet") && (f.state == "NotOptedIn" || !strings.HasPrefix(s.cause, "NotOptedIn"))
		})
		_, err := d.shell(namespaces[name], f.then)
		d.must(err)
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			d := *d
			d.t = t
			ref := f.ref(namespaces[name])
			s := d.await(ref, func(s said) bool {
				return strings.HasPrefix(s.cause, f.state+": ") && strings.Contains(s.cause, f.cause) && strings.Contains(s.next, f.next)
			})
			t.Logf("%+v", s)
			status, err := d.shell("", "reroll status -o wide")
			d.must(err)
			if listed := strings.Contains(status, ref+" ") || strings.Contains(status, ref+":"); listed == f.calm {
				t.Errorf("%s\nis in the status: %t\n%s", s.cause, listed, status)
			}
			if s.next != "" && !f.calm && !strings.Contains(status, "Next: "+s.next+"\n") {
				t.Errorf("the status does not name %q:\n%s", s.next, status)
			}
			if f.state != "NotOptedIn" {
				d.expectPage(ref, s)
			}
			if s.next != "" {
				d.try(s.next)
			}
		})
	}
	d.t = t
	d.recipes()
	d.plugin(namespaces["all is well"])
	d.dashboard(namespaces["no annotation"])
	d.cluster(namespaces["all is well"])
}

// built finds a command that the dashboard builds in a source of its own; all others are of the API.
var built = regexp.MustCompile("`((?:reroll|kubectl) [^`]*)`")

// dashboard runs the commands that the dashboard builds for the Deployment web of a namespace, in the order in which they stand there.
func (d *desk) dashboard(namespace string) {
	d.t.Helper()
	commands := 0
	d.must(filepath.WalkDir("../../api/ui/src", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tsx" {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range built.FindAllStringSubmatch(string(source), -1) {
			command := strings.NewReplacer(
				"${namespace}", namespace, "${kind.toLowerCase()}", "deployment", "${name}", "web",
				"${w.workload.namespace}", namespace, "${w.workload.kind}", "Deployment", "${w.workload.name}", "web",
			).Replace(found[1])
			if strings.Contains(command, "${") {
				d.t.Errorf("%s: %s has a field that is not known here", path, command)
				continue
			}
			if commands++; strings.HasPrefix(command, "reroll") {
				d.await(namespace+"/Deployment/web", func(s said) bool { return !strings.HasPrefix(s.cause, "NotOptedIn") })
			}
			d.try(command)
		}
		return err
	}))
	if commands < 2 {
		d.t.Errorf("%d commands were found in the dashboard", commands)
	}
}

// expectPage expects that the API tells the dashboard's page of a workload what the first line of explain says.
func (d *desk) expectPage(ref string, s said) {
	d.t.Helper()
	var page struct {
		Verdict struct {
			State, Message, Next string
			NeedsAttention       bool
		}
	}
	d.must(d.line.Reroll.Get(d.ctx, "/api/v1/workloads/local/"+ref, &page))
	v := page.Verdict
	if _, err := d.shell("", "reroll explain --exit-code "+ref); (err != nil) != v.NeedsAttention {
		d.t.Errorf("explain --exit-code ends with %v; needs attention: %t", err, v.NeedsAttention)
	}
	if v.State == "" || s.cause != v.State+": "+v.Message || s.next != v.Next {
		d.t.Errorf("the page has %+v, explain %+v", v, s)
	}
}

// cluster makes the mistakes that concern all workloads, one after another, with the workload web of a namespace that has none of its own. The
// next commands of explain and those of the status, also of what is wrong with the cluster, are run.
func (d *desk) cluster(namespace string) {
	d.t.Helper()
	ref := namespace + "/Deployment/web"
	says := func(ref string, parts ...string) {
		d.t.Helper()
		s := d.await(ref, func(s said) bool {
			for _, part := range parts {
				if !strings.Contains(s.cause+" Next: "+s.next, part) {
					return false
				}
			}
			return true
		})
		if s.next == "" {
			return
		}
		status, err := d.shell(namespace, "reroll status -n $NAMESPACE")
		d.must(err)
		commands := map[string]bool{s.next: true}
		for line := range strings.Lines(status) {
			if next, found := strings.CutPrefix(strings.TrimSpace(line), "Next: "); found {
				commands[next] = true
			}
		}
		for next := range commands {
			d.try(next)
		}
	}
	says("deploy web -n "+namespace, "UpToDate: ")
	_, err := d.shell(namespace, "reroll pause -A --for 1h --reason 'release in progress' --reroll-namespace default\n"+strings.ReplaceAll(edit, "debug", "warn"))
	d.must(err)
	says(ref, "Frozen: ", `"release in progress"`, "until", "Next: reroll resume -A --reroll-namespace default")
	says(ref, "UpToDate: ")
	_, err = d.shell(namespace, `kubectl -n default patch configmap reroll-control -p '{"data":{"control.yaml":"frezze: {}"}}'`)
	d.must(err)
	says(ref, "UpToDate: ", `line 1: field frezze not found.`, "The next change waits.", "Next: kubectl -n default edit configmap reroll-control")
	_, err = d.shell(namespace, "kubectl -n default delete configmap reroll-control")
	d.must(err)
	says(ref, "UpToDate: ")
	if said, err := d.shell(namespace, "REROLL_SERVER= reroll status --reroll-namespace=empty"); err == nil || !strings.Contains(said, "no pod with Reroll's API is running in namespace empty") {
		d.t.Errorf("without a pod: %v: %s", err, said)
	}
	d.line.Reroll.Kill()
	says(ref, "cannot reach Reroll at "+d.line.Reroll.API, "Set --context for the Reroll of a cluster", "REROLL_SERVER")
}
