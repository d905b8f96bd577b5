package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// TestBinaryWorksWithItsRights runs the program itself with the arguments that the chart gives it and under the chart's own account. It is told
// of changes by posts to its ingest, rolls a workload of every kind, and is started twice. TestRightsAreThoseThatAreUsed has what else it may meet.
func TestBinaryWorksWithItsRights(t *testing.T) {
	cluster := startRig(t)
	kubectl(t, cluster, "annotate", "--namespace=shop", "deployments,statefulsets,daemonsets,cronjobs,jobs", "--all",
		"configmap.reloader.stakater.com/reload=prices", "secret.reloader.stakater.com/reload=password")
	objects := rendered(t, "default")
	granted := grantsOf(objects, account(t, objects, ""))
	bind(t, cluster, "default")
	w := newWitness(t, cluster, accountUser+account(t, objects, ""))
	p := newProgram(t, workloads(t, objects)[0], w.Kubeconfig)
	for round := range 2 {
		stop := p.start(t)
		for what, patch := range map[string]string{"configmaps/prices": "data", "secrets/password": "stringData"} {
			kubectl(t, cluster, "patch", what, "--namespace=shop", "--type=merge", fmt.Sprintf(`--patch={%q:{"eu":"round %d"}}`, patch, round))
			p.tell(t, what)
		}
		p.waitRolls(t, round+1)
		stop()
	}
	if diff := gocmp.Diff([]string(nil), w.refused()); diff != "" {
		t.Errorf("requests that were refused (-want +got):\n%s", diff)
	}
	if err := w.unused(withoutRare(granted)); err != nil {
		t.Error(err)
	}
}

// rare is what the program does only when something comes in between: TestRightsAreThoseThatAreUsed lets it.
var rare = map[string]string{
	"configmaps/reloader-meta-info update": "another version was here before",
	"secrets update":                       "a Job's manifest was left behind",
	"apps/deployments get":                 "somebody else wrote it between the decision and the patch",
	"apps/statefulsets get":                "the same",
	"apps/daemonsets get":                  "the same",
	"pods list":                            "its pods are newer than the content, or its mark is of old",
}

// withoutRare returns the grants that are used whenever a change comes.
func withoutRare(granted map[string][]string) map[string][]string {
	often := map[string][]string{}
	for scope, grants := range granted {
		for _, grant := range grants {
			what, verbs, _ := strings.Cut(grant, " ")
			for verb := range strings.SplitSeq(verbs, ",") {
				if rare[what+" "+verb] == "" {
					often[scope] = append(often[scope], what+" "+verb)
				}
			}
		}
	}
	return often
}

// program is reroll serve as the chart starts it, with addresses and files of this machine.
type program struct {
	arguments, environment []string
	ingest, metrics, api   string
	log                    bytes.Buffer
}

func newProgram(t *testing.T, of runner, kubeconfig string) *program {
	t.Helper()
	free, err := port.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{ingest: free[0], metrics: free[1], api: free[2]}
	here := map[string]string{
		"ingest-address": p.ingest, "metrics-address": p.metrics, "api-address": p.api, "data-dir": filepath.Join(t.TempDir(), "data"),
		"namespace": namespace, "canary-interval": "5s",
	}
	for _, argument := range of.pod.Spec.Containers[0].Args {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		if strings.HasPrefix(name, "ingest-tls-") {
			continue
		}
		if value, ok := here[name]; ok {
			argument = "--" + name + "=" + value
		}
		p.arguments = append(p.arguments, argument)
	}
	p.arguments = append(p.arguments, "--ingest-insecure-http", "--kubeconfig="+kubeconfig)
	p.environment = append(os.Environ(), "POD_NAME=example-reroll-0", "POD_NAMESPACE="+namespace, "RELOADER_NAMESPACE="+namespace, "RELOADER_DEPLOYMENT_NAME=example-reroll")
	return p
}

// start starts the program and waits until it is ready. The returned function ends it in order.
func (p *program) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, p.arguments...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.environment, &p.log, &p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait says what became of it
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, p.log.String())
		}
	}
	t.Cleanup(stop)
	err = line.Poll(ctx, func(ctx context.Context) error {
		return expectStatus(ctx, http.MethodGet, "http://"+p.metrics+"/readyz", "", http.StatusOK)
	})
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// tell posts the audit event of a write.
func (p *program) tell(t *testing.T, what string) {
	t.Helper()
	resource, name, _ := strings.Cut(what, "/")
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	body := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"level":"Metadata","auditID":"%s-%d","stage":"ResponseComplete","verb":"patch",
		"user":{"username":"alice"},"objectRef":{"resource":%q,"namespace":"shop","name":%q,"apiVersion":"v1"},"responseStatus":{"code":200},
		"requestReceivedTimestamp":%q,"stageTimestamp":%q}]}`, name, time.Now().UnixNano(), resource, name, now, now)
	if err := expectStatus(t.Context(), http.MethodPost, "http://"+p.ingest+"/v1/audit/local", body, http.StatusNoContent); err != nil {
		t.Fatal(err)
	}
}

// waitRolls waits until every kind of workload was rolled for both configs, n times.
func (p *program) waitRolls(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	served := line.Reroll{API: "http://" + p.api}
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := served.Reloads(ctx, "shop")
		if err != nil {
			return err
		}
		causes := map[string]int{}
		for _, r := range reloads {
			if r.Outcome == string(reloader.ReasonReloaded) {
				causes[r.Workload.Kind] += len(r.Causes)
			}
		}
		for _, kind := range builtIn {
			if causes[kind] < 2*n {
				return fmt.Errorf("a %s was rolled for %d of %d changes", kind, causes[kind], 2*n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log.String())
	}
}

// expectStatus sends a request and returns an error unless the answer has that status.
func expectStatus(ctx context.Context, method, url, body string, want int) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is read
	if response.StatusCode != want {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}
