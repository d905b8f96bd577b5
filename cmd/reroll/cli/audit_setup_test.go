package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/tests/pki"
)

// setup runs the command for a release, and returns what it prints.
func setup(t *testing.T, from kube.Ingest, err error, args ...string) (out, errs string, failed error) {
	t.Helper()
	g, root := &globals{version: "v1.2.3"}, &cobra.Command{Use: "reroll", SilenceErrors: true, SilenceUsage: true}
	g.bind(root)
	s := &auditSetup{globals: g, now: func() time.Time { return now }, find: func(context.Context) (kube.Ingest, error) { return from, err }}
	root.AddCommand(s.command())
	CheckUsage(root)
	return execute(t.Context(), root, append([]string{"setup"}, args...)...)
}

// released is a release with a CA of its own.
func released(t *testing.T) kube.Ingest {
	t.Helper()
	ca, err := pki.NewCA("ingest")
	if err != nil {
		t.Fatal(err)
	}
	return kube.Ingest{
		Release: "reroll", Namespace: "reroll", Service: "reroll-ingest", Cluster: "local", Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.50", Port: 9443,
		Secret: "reroll-ingest-tls", Data: map[string][]byte{"ca.crt": ca.CertPEM(), "ca.key": ca.KeyPEM()},
	}
}

// TestSetupForEach writes the files for every distribution. An API server could post with them, only their owner can read them, and what is printed is in
// a golden file.
func TestSetupForEach(t *testing.T) {
	for _, d := range distribution.All {
		t.Run(d.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			open := filepath.Join(auditFolder, d.SettingsFile()) // of an earlier run, and made readable for all
			if err := errors.Join(os.Mkdir(auditFolder, 0o700), os.WriteFile(open, nil, 0o600), os.Chmod(open, 0o644)); err != nil {
				t.Fatal(err)
			}
			args := []string{"--for", d.Name, "--force"}
			if d.Name == "k0s" {
				args = append(args, "--address", "https://worker-1.example:30943")
			}
			out, errs, err := setup(t, released(t), nil, args...)
			if err != nil || errs != "" {
				t.Fatalf("%v: %s", err, errs)
			}
			file := filepath.Join(goldens, d.Name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || out != string(want) {
				t.Errorf("%v; go test ./cmd/reroll/cli -run TestSetup -update writes\n%s", err, out)
			}
			entries, err := os.ReadDir(auditFolder)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %v, %v", e.Name(), info.Mode(), err)
				}
				if !strings.Contains(out, "\n  "+e.Name()+" ") {
					t.Errorf("%s is written and not told of", e.Name())
				}
			}
			if d.Dir != "" {
				examine(t, d)
			}
		})
	}
}

// goldens is where the golden files are, wherever a test is.
var goldens = func() string {
	dir, err := filepath.Abs("testdata/setup")
	if err != nil {
		panic(err)
	}
	return dir
}()

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// examine reads the kubeconfig for a distribution as its API server does.
func examine(t *testing.T, d distribution.Distribution) {
	t.Helper()
	kubeconfig, err := os.ReadFile(filepath.Join(auditFolder, "audit-webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !d.Embed { // the folder here is the one that the API server sees
		kubeconfig = bytes.ReplaceAll(kubeconfig, []byte(d.Dir+"/"), []byte(auditFolder+"/"))
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rest.TLSConfigFor(config); err != nil || !strings.HasSuffix(config.Host, "/v1/audit/local") {
		t.Errorf("an API server could not post to %s: %v", config.Host, err)
	}
	if settings, err := os.ReadFile(filepath.Join(auditFolder, d.SettingsFile())); err != nil || d.Inline && !bytes.Contains(settings, []byte("client-key-data")) {
		t.Errorf("the settings do not hold the kubeconfig: %v", err)
	}
}

// TestSetupFromReleases: what the release is decides what is written, or why nothing is.
func TestSetupFromReleases(t *testing.T) {
	const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: RequestResponse\n  resources: [{group: \"\", resources: [secrets]}]\n"
	type says struct{ out, file, text, warning, err string }
	for name, c := range map[string]struct {
		edit func(*kube.Ingest)
		args string
		want says
	}{
		"a NodePort":        {func(k *kube.Ingest) { k.Type, k.NodePort = "NodePort", 30943 }, "--for kubeadm", says{file: "audit-webhook.yaml", text: "server: https://127.0.0.1:30943/v1/audit/local", warning: "nftables"}},
		"a load balancer":   {func(k *kube.Ingest) { k.Type, k.Balancers = "LoadBalancer", []string{"lb.example"} }, "--for k3s", says{file: "audit-webhook.yaml", text: "server: https://lb.example:9443/v1/audit/local"}},
		"a balancer to be":  {func(k *kube.Ingest) { k.Type = "LoadBalancer" }, "--for kubeadm", says{err: "has no address yet"}},
		"a server":          {nil, "--for kubeadm --address https://audit.example", says{file: "audit-webhook.yaml", text: "server: https://audit.example/v1/audit/local"}},
		"no server":         {nil, "--for kubeadm --address http://audit.example", says{err: "is not https://HOST:PORT"}},
		"k0s, a ClusterIP":  {nil, "--for k0s", says{err: "reaches no ClusterIP"}},
		"another namespace": {func(k *kube.Ingest) { k.Namespace, k.Cluster, k.Service = "ops", "east", "rr-ingest" }, "--for kubeadm", says{out: "reroll audit check --cluster east", file: "audit-webhook.yaml", text: "tls-server-name: rr-ingest.ops.svc"}},
		"OpenShift":         {func(k *kube.Ingest) { k.Namespace, k.Cluster = "ops", "east" }, "--for openshift", says{file: "settings.yaml", text: `url: "https://reroll-ingest.ops.svc:9443/v1/shipped/east"`}},

		"no name":        {func(k *kube.Ingest) { k.Cluster = "" }, "--for kubeadm", says{err: "set --cluster to the clusterName"}},
		"another name":   {nil, "--for kubeadm --cluster west", says{out: "cluster west", warning: "cluster is named local, not west"}},
		"a strange name": {func(k *kube.Ingest) { k.Cluster = "a/../b" }, "--for kubeadm", says{err: "the name of the cluster"}},
		"no folder":      {nil, "--for kubeadm --out policy.yaml", says{err: "--out:"}},

		"their policy":   {nil, "--for kubeadm --policy policy.yaml", says{file: "audit-policy.yaml", text: "level: RequestResponse", warning: "reported without content, whatever the rules of policy.yaml say"}},
		"a policy where": {nil, "--for kubeadm --policy missing", says{err: "--policy: missing: open missing"}},
		"a file alone":   {nil, "--for talos --print settings", says{out: "client-key-data"}},
		"no kubeconfig":  {nil, "--for openshift --print kubeconfig", says{err: "gives its API server no kubeconfig"}},

		"a certificate of theirs":           {func(k *kube.Ingest) { k.Data = nil }, "--for kubeadm", says{file: "audit-webhook.yaml", text: "client-key: /etc/kubernetes/reroll/client.key", warning: "Add ca.crt, and client.crt and client.key for local.audit.reroll.dev, which your CA has signed"}},
		"a certificate of theirs, embedded": {func(k *kube.Ingest) { k.Data = nil }, "--for talos", says{err: "needs a client certificate for local.audit.reroll.dev"}},
		"a Secret that is no CA":            {func(k *kube.Ingest) { k.Data = map[string][]byte{} }, "--for kubeadm", says{err: "the CA in Secret reroll/reroll-ingest-tls: the CA and its key: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("policy.yaml", []byte(policy), 0o600); err != nil {
				t.Fatal(err)
			}
			from := released(t)
			if c.edit != nil {
				c.edit(&from)
			}
			out, errs, err := setup(t, from, nil, strings.Fields(c.args)...)
			if (err != nil) != (c.want.err != "") || err != nil && !strings.Contains(err.Error(), c.want.err) {
				t.Fatalf("error %v, want %q", err, c.want.err)
			}
			if !strings.Contains(out, c.want.out) || !strings.Contains(errs, c.want.warning) || errs != "" && c.want.warning == "" {
				t.Errorf("it says\n%s\nand warns\n%s", out, errs)
			}
			if strings.Contains(out+errs, "BEGIN") {
				t.Error("it prints what is secret")
			}
			if c.want.file == "" {
				if _, err := os.Stat(auditFolder); err == nil && (c.want.err != "" || strings.Contains(c.args, "--print")) {
					t.Error("something is written")
				}
				return
			}
			if content, err := os.ReadFile(filepath.Join(auditFolder, c.want.file)); err != nil || !strings.Contains(string(content), c.want.text) {
				t.Errorf("%s is %s, %v", c.want.file, content, err)
			}
		})
	}
}

// TestSetupWithoutRelease: what was not found is told with what to do about it, and a distribution that needs none asks for none.
func TestSetupWithoutRelease(t *testing.T) {
	t.Chdir(t.TempDir())
	none := errors.Join(kube.ErrNoRelease)
	if _, _, err := setup(t, kube.Ingest{}, none, "--for", "kubeadm"); err == nil || !strings.Contains(err.Error(), "source=auto or source=audit, or name the namespace with --reroll-namespace") {
		t.Errorf("without a release: %v", err)
	}
	out, _, err := setup(t, kube.Ingest{}, none, "--for", "eks", "--reroll-namespace", "ops")
	if err != nil || !regexp.MustCompile(`(?m)^   helm upgrade reroll .*--namespace ops `).MatchString(out) {
		t.Errorf("EKS: %v\n%s", err, out)
	}
}
