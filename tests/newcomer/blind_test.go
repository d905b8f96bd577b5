package newcomer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// blinds are mistakes in the set-up of the audit feed: the API server reports no write of a kind, or writes of another cluster.
var blinds = map[string]struct {
	// resources are those whose writes the audit policy has, and cluster is what Reroll calls the cluster that sends as line.ClusterName.
	resources []string
	cluster   string
	// container uses the config that nobody hears of, and edit changes it.
	container, edit string
	// cause is in the first line of explain.
	cause string
}{
	"a policy without Secrets": {
		resources: []string{"configmaps"}, cluster: line.ClusterName,
		container: `, envFrom: [{secretRef: {name: api-password}}]`, edit: `kubectl -n $NAMESPACE patch secret api-password --patch '{"stringData":{"token":"b"}}'`,
		cause: "no audit event of a Secret has come since the dispatcher started",
	},
	"a policy without ConfigMaps": {
		resources: []string{"secrets"}, cluster: line.ClusterName, container: fromApp, edit: edit,
		cause: "no audit event of a ConfigMap has come since the dispatcher started",
	},
	"the name of another cluster": {
		resources: []string{"configmaps", "secrets"}, cluster: "production", container: fromApp, edit: edit,
		cause: "no audit event of a ConfigMap has come since the dispatcher started",
	},
}

// TestBlind: where only audit events report changes and those of a kind do not come, explain does not claim more than the last resync saw. Once
// the feed is found to be silent, what changed is rolled all the same, and the status's next command says what is wrong with the feed.
func TestBlind(t *testing.T) {
	for name, b := range blinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := yaml.Marshal(auditv1.Policy{
				TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
				OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
				Rules: []auditv1.PolicyRule{
					{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Resources: b.resources}}},
					{Level: auditv1.LevelNone},
				},
			})
			line.Must(t, err)
			policy := filepath.Join(t.TempDir(), "policy.yaml")
			line.Must(t, os.WriteFile(policy, text, 0o600))
			d := newDesk(t, line.Options{
				Kube: kube.Options{ControlPlaneOnly: true, APIServerFlags: []string{"--audit-policy-file=" + policy}},
				Flags: []string{
					"--cluster-name", b.cluster, "--set", "debounce.window=0s", "--set", "ingest.canaryInterval=1s", "--set", "resyncInterval=1h",
				},
			})
			namespace := d.line.Kube.Namespace(t)
			d.apply(namespace, app+password+deployment(auto, b.container))
			ref := namespace + "/Deployment/web"
			d.await(ref, func(s said) bool { return strings.HasPrefix(s.cause, "UpToDate: ") })
			_, err = d.shell(namespace, b.edit)
			d.must(err)
			s := d.await(ref, func(s said) bool {
				return strings.Contains(s.cause, "This is as of ") && strings.Contains(s.cause, b.cause)
			})
			t.Logf("%+v", s)
			var status string
			d.must(poll(d.ctx, func() bool {
				status, err = d.shell("", "reroll status")
				d.must(err)
				return strings.Contains(status, "Next: reroll audit check\n")
			}))
			t.Log(status)
			d.await(ref, func(s said) bool { return strings.HasPrefix(s.cause, "Rolling: ") })
			said, err := d.shell("", "reroll audit check --timeout 5s")
			if err == nil || !strings.Contains(said, "✗ ") {
				t.Errorf("%v:\n%s", err, said)
			}
			t.Log(said)
		})
	}
}
