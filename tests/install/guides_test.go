package install_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestGuides runs the commands of each guide beside a release. What they make is what the API server's own loaders take.
func TestGuides(t *testing.T) {
	guides, err := filepath.Glob(root + "/docs/install/*.md")
	if err != nil || len(guides) < 17 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	installed := newReader(t)
	installed.install(t.Context(), t)
	for _, file := range guides {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := newReader(t)
			r.Env = append(r.Env, "KUBECONFIG="+installed.kubeconfig)
			ran := 0
			for _, section := range read(t, "install/"+filepath.Base(file)) {
				r.Follow(t, section.Commands...)
				ran += len(section.Commands)
			}
			if ran == 0 {
				t.Error("nothing was run")
			}
			expectInstallable(t, r, file)
			policies, kubeconfigs := 0, 0
			for _, dir := range []string{r.Dir, filepath.Join(r.Dir, setupFolder)} {
				policy, kubeconfig := expectLoadable(t, dir)
				policies, kubeconfigs = policies+policy, kubeconfigs+kubeconfig
			}
			want := made(filepath.Base(file))
			if policies != want.policies || kubeconfigs != want.kubeconfigs {
				t.Errorf("the commands made %d policies and %d kubeconfigs, want %+v", policies, kubeconfigs, want)
			}
		})
	}
}

// files are how many audit policies and kubeconfigs of the audit webhook the commands of a guide make.
type files struct{ policies, kubeconfigs int }

// made returns what a guide makes. Where nobody reaches the API server's files, Reroll watches or gets the log.
func made(guide string) files {
	switch guide {
	case "eks.md", "gke.md", "aks.md", "openshift.md":
		return files{0, 0}
	case "README.md", "gardener.md":
		return files{1, 0}
	}
	return files{1, 1}
}

// expectInstallable: where a guide has somebody install the chart with the values that it has printed, the chart takes them, and its process finds
// changes without an audit webhook, for which nothing is made then.
func expectInstallable(t *testing.T, r *reader, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	install := chartInstall.FindString(string(text))
	if slices.Contains([]string{"eks.md", "gke.md", "aks.md"}, filepath.Base(file)) == (install == "") {
		t.Errorf("the guide has somebody install the chart by %q", install)
	}
	if install == "" {
		return
	}
	rendered := r.Follow(t, strings.NewReplacer("helm install", "helm template", " --create-namespace", "").Replace(install))
	if want := "- --source=watch\n"; !strings.Contains(rendered, want) {
		t.Errorf("of the values of the guide comes no %q", want)
	}
	for _, unwanted := range []string{"ingest-tls", "reroll-ingest"} {
		if strings.Contains(rendered, unwanted) {
			t.Errorf("of the values of the guide comes %q, for nobody", unwanted)
		}
	}
}

// chartInstall is the line that installs our chart with the values that were printed.
var chartInstall = regexp.MustCompile(`(?m)^helm install reroll helm/reroll .*--values values\.yaml.*$`)

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
