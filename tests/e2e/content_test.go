//go:build nightly

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// canary is content of which no eight characters in a row must be found anywhere.
const canary = "q7Zk2vXw9RtB5mNc8LpJ4hGd"

// TestNoContentAnywhere plants a value in a ConfigMap and a Secret, has the API server send whole bodies, and looks for the value
// in everything that Reroll says, sends and leaves behind.
func TestNoContentAnywhere(t *testing.T) {
	o := listen(t)
	l := ownLine(t, line.Options{
		Kube:        kube.Options{Audit: &kube.Audit{Level: auditv1.LevelRequestResponse}},
		Flags:       append([]string{"--set", "debounce.window=0s", "--log-level", "debug"}, o.hub...),
		Environment: o.environment(),
	})
	r := newRoom(t, l)
	o.attend(r)
	r.create(configMap("app", map[string]string{"k": canary}))
	r.create(secret("password", map[string]string{"k": canary}))
	d := deployment("web", usesEnvFrom("app"), usesSecretVolume("password"))
	r.create(d)
	r.create(deployment("refused", usesEnvFrom("app"), usesSecretVolume("password")))
	r.waitBaseline("web", 2)
	r.waitBaseline("refused", 2)
	r.refuse("refused")

	_, err := l.Kube.Kubectl(r.ctx, "patch", "configmap", "app", "--namespace="+r.ns, "--type=merge", "-p", `{"data":{"k":"`+canary+`-2"}}`)
	r.must(err)
	r.waitRolls("web", 1)
	_, err = r.client.CoreV1().Secrets(r.ns).Patch(r.ctx, "password", types.MergePatchType, []byte(`{"stringData":{"k":"`+canary+`-3"}}`), metav1.PatchOptions{})
	r.must(err)
	r.expectRolls("web", 2)
	r.waitOutcome("refused", "Refused")
	r.waitEvents("web", 2)
	o.waitHeard(r)

	for place, said := range o.everything(r) {
		if !bytes.Contains(said.text, []byte(said.control)) {
			t.Errorf("%s does not even have %q: the search proves nothing", place, said.control)
		}
		for _, form := range line.Pieces(canary, said.text) {
			t.Errorf("content was found %s in %s", form, place)
		}
	}
	r.must(l.Reroll.Terminate(r.ctx))
	r.checkFiles(l.DataDir())
	o.endHub()
	r.checkFiles(o.hubDir)
}

// refusal makes the API server refuse every write to one Deployment.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [UPDATE]}]}
  matchConditions: [{name: one, expression: 'object.metadata.namespace == "%s" && object.metadata.name == "%s"'}]
  validations: [{expression: "false", messageExpression: "'as it would be: ' + string(object.spec.template.spec.containers[0])"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse}
spec: {policyName: refuse, validationActions: [Deny]}
`

// refuse has the API server refuse writes to a Deployment from now on.
func (r *room) refuse(name string) {
	r.t.Helper()
	cmd := r.line.Kube.Command(r.ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(refusal, r.ns, name))
	output, err := cmd.CombinedOutput()
	r.must(withOutput(err, output))
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		_, err := r.client.AppsV1().Deployments(r.ns).Patch(ctx, name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"probe":"x"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("writes are not refused yet")
		}
		return nil
	}))
}

// waitOutcome waits until a reload of a workload is recorded with an outcome.
func (r *room) waitOutcome(name, outcome string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		for _, reload := range reloads {
			if reload.Workload.Name == name && reload.Outcome == outcome {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("no %s of %s is recorded", outcome, name))
	}))
}

// waitEvents waits until a workload has n Events.
func (r *room) waitEvents(name string, n int) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		events, err := r.client.CoreV1().Events(r.ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err == nil && len(events.Items) < n {
			err = fmt.Errorf("%s has %d Events, not %d", name, len(events.Items), n)
		}
		return err
	}))
}

// rawJSON keeps an answer as it came.
type rawJSON []byte

// UnmarshalJSON keeps data.
func (b *rawJSON) UnmarshalJSON(data []byte) error {
	*b = append((*b)[:0], data...)
	return nil
}

// checkFiles looks for the canary in the files of a NATS server.
func (r *room) checkFiles(dir string) {
	r.t.Helper()
	r.eachFile(dir, func(path string, data []byte) {
		for _, form := range line.Pieces(canary, data) {
			r.t.Errorf("content was found %s in %s", form, path)
		}
	})
}

// eachFile has the files of a NATS server looked at, after checking that names are found there.
func (r *room) eachFile(dir string, look func(path string, data []byte)) {
	r.t.Helper()
	named := false
	r.must(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		named = named || bytes.Contains(data, []byte(r.ns))
		look(path, data)
		return err
	}))
	if !named {
		r.t.Errorf("the files in %s do not even name the namespace: the search proves nothing", dir)
	}
}
