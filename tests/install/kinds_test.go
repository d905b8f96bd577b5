package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
)

// TestKindsOfClusters sets up the audit events of every kind of cluster beside a release. What that makes is what the API server's own loaders take.
// Where no kubeconfig or policy can be given to the API server, none is made.
func TestKindsOfClusters(t *testing.T) {
	installed := newReader(t)
	installed.install(t.Context(), t)
	for _, d := range distribution.All {
		t.Run(d.Name, func(t *testing.T) {
			r := newReader(t)
			r.Env = append(r.Env, "KUBECONFIG="+installed.kubeconfig)
			if d.Posts() {
				command := "reroll audit setup --for " + d.Name
				if d.Name == "k0s" { // whose controllers reach no ClusterIP
					command += " --server https://worker-1.example:30943"
				}
				r.Follow(t, command)
			} else {
				r.Follow(t, "reroll audit setup --for "+d.Name+" --print settings > values.yaml")
				expectInstallable(t, r)
			}
			policies, kubeconfigs := expectLoadable(t, filepath.Join(r.Dir, setupFolder))
			if (policies == 1) != (d.Dir != "" || d.TakesPolicy) || (kubeconfigs == 1) != (d.Dir != "") {
				t.Errorf("%d policies and %d kubeconfigs were made", policies, kubeconfigs)
			}
		})
	}
}

// TestMergedPolicy runs the commands of the page about audit events.
func TestMergedPolicy(t *testing.T) {
	r := newReader(t)
	for _, section := range read(t, "audit-events.md") {
		r.Follow(t, section.Commands...)
	}
	if policies, _ := expectLoadable(t, r.Dir); policies != 1 {
		t.Errorf("the commands made %d policies", policies)
	}
}

// expectInstallable: the chart takes the values that were printed, and its process finds changes without an audit webhook, for which nothing is
// made then.
func expectInstallable(t *testing.T, r *reader) {
	t.Helper()
	rendered := r.Follow(t, "helm template reroll helm/reroll --namespace reroll --values values.yaml")
	if want := "- --source=watch\n"; !strings.Contains(rendered, want) {
		t.Errorf("of the values comes no %q", want)
	}
	for _, unwanted := range []string{"ingest-tls", "reroll-ingest"} {
		if strings.Contains(rendered, unwanted) {
			t.Errorf("of the values comes %q, for nobody", unwanted)
		}
	}
}

// expectLoadable checks the policy and the kubeconfig in a folder, and returns how many of them there are. What the kubeconfig names is looked
// for beside it: the folder that it means is on another machine.
func expectLoadable(t *testing.T, dir string) (policies, kubeconfigs int) {
	t.Helper()
	if content, err := os.ReadFile(filepath.Join(dir, "audit-policy.yaml")); err == nil {
		if _, err := policy.LoadPolicyFromBytes(content); err != nil {
			t.Errorf("the API server refuses the policy: %v", err)
		}
		policies = 1
	}
	content, err := os.ReadFile(filepath.Join(dir, "audit-webhook.yaml"))
	if err != nil {
		return policies, 0
	}
	loaded, err := clientcmd.Load(content)
	if err != nil {
		t.Fatalf("the API server refuses the kubeconfig: %v", err)
	}
	here := func(file *string) {
		if *file != "" {
			*file = filepath.Join(dir, filepath.Base(*file))
		}
	}
	for _, c := range loaded.Clusters {
		here(&c.CertificateAuthority)
	}
	for _, u := range loaded.AuthInfos {
		here(&u.ClientCertificate)
		here(&u.ClientKey)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if err != nil {
		t.Fatalf("the API server refuses the kubeconfig: %v", err)
	}
	if _, err := rest.TransportFor(config); err != nil {
		t.Errorf("the API server would not start: %v", err)
	}
	if !strings.HasPrefix(config.Host, "https://") || !strings.HasSuffix(config.Host, "/v1/audit/local") || config.CertData == nil && config.CertFile == "" {
		t.Errorf("events go to %s, without a certificate or with", config.Host)
	}
	return policies, 1
}
