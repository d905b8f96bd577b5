//go:build linux

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/pki"
)

// TestReadme follows the README on a real node, switches from the watch to audit events as docs/audit-events.md says, and then has the release
// upgraded, killed and removed. Each edit of a config rolls the app once.
func TestReadme(t *testing.T) {
	s := newSite(t)
	s.space()
	_, err := s.tryApply(namespace, "apiVersion: v1\nkind: Pod\nmetadata: {name: root}\nspec: {containers: [{name: main, image: "+pauseImage+"}]}\n")
	if err == nil || !strings.Contains(err.Error(), "restricted") { // that ours are admitted would say nothing otherwise
		t.Errorf("a pod that may do anything: %v", err)
	}
	s.volume()
	for _, step := range []struct {
		name string
		run  func(s *site)
	}{
		{"from nothing to rolled, and explained", (*site).expectExplained},
		{"from the watch to audit events", (*site).expectAudit},
		{"an upgrade loses nothing", (*site).expectUpgraded},
		{"a killed container doubles nothing", (*site).expectKilled},
		{"uninstalling leaves nothing behind", (*site).expectUninstalled},
	} {
		outer, began := s.t, time.Now()
		ok := t.Run(step.name, func(t *testing.T) {
			s.t = t
			step.run(s)
			t.Logf("%s: %s", step.name, time.Since(began).Round(time.Second))
		})
		if s.t = outer; !ok {
			return // what comes after it stands on it
		}
	}
}

// imageOptions are those of the quick start's table for a cluster into whose containerd an image was imported.
var imageOptions = regexp.MustCompile("(?m)^\\| k3s \\|.*`(--set image[^`]*)` \\|$")

// quickStart returns the README's commands: the one that installs, with the two options to which it leads, and those that are typed then.
func (s *site) quickStart() (install string, typed []string) {
	s.t.Helper()
	page, err := os.ReadFile(root + "/docs/quickstart.md")
	s.must(err)
	options := imageOptions.FindSubmatch(page)
	sections, err := guide.Read(root + "/README.md")
	s.must(err)
	commands := guide.Commands(s.t, sections, "Quick start")
	if len(commands) != 2 || options == nil {
		s.t.Fatalf("the README has %q, and the quick start adds %q", commands, options)
	}
	return commands[0] + " " + string(options[1]), strings.Split(commands[1], "\n")
}

// expectExplained types the README's commands, and nothing else.
func (s *site) expectExplained() {
	install, typed := s.quickStart()
	s.apply(s.ns, app)
	s.says("COLOUR=blue")

	began := time.Now()
	s.Follow(s.t, install)
	s.t.Logf("installed, and ready, in %s", time.Since(began).Round(time.Second))
	for _, command := range typed {
		s.Follow(s.t, command)
		if strings.Contains(command, "annotate") {
			s.tells("UpToDate: Nothing has changed", "reroll explain deploy/web")
			s.rolled("COLOUR=blue")
		}
	}
	s.edits++
	s.rolled("COLOUR=red")
	s.tells("It last rolled for ConfigMap "+s.ns+"/settings", typed[len(typed)-1])
	s.t.Logf("from nothing to rolled, and explained, in %s: %s", time.Since(began).Round(time.Second), s.Follow(s.t, typed[len(typed)-1]))
	s.tells("healthy · 1 workload", "reroll status")
}

// nodeFolder is where reroll audit setup expects the files of kubeadm's API server. Here they stay where they were written.
const nodeFolder = "/etc/kubernetes/reroll"

// expectAudit edits before, during and after the switch, and a Secret, which nothing but audit events reports at the end.
func (s *site) expectAudit() {
	s.edit("before")
	s.rolled("COLOUR=before")

	s.Follow(s.t, "reroll audit setup --for kubeadm")
	for _, file := range []string{"audit-webhook.yaml", "settings.yaml"} {
		s.Replace(s.t, "reroll-audit/"+file, nodeFolder, filepath.Join(s.Dir, "reroll-audit"))
	}
	s.must(s.kube.StopAPIServer(s.ctx))
	s.must(s.kube.StartAPIServer(s.ctx, s.APIServerFlags(s.t, "reroll-audit")...))
	s.edit("while both report")
	s.rolled("COLOUR=while both report")
	s.t.Log(s.Follow(s.t, "reroll audit check --timeout 5m"))

	old := s.ready(0, "")
	s.upgrade("--set source=audit")
	s.edit("while its pod is replaced")
	s.ready(0, string(old.UID))
	s.rolled("COLOUR=while its pod is replaced")
	s.edits++
	s.kubectl("patch", "secret", "account", "--namespace="+s.ns, `--patch={"stringData":{"password":"two"}}`)
	s.rolled("PASSWORD=two")
	s.edit("after")
	s.rolled("COLOUR=after")
	s.tells("admin", "reroll get changes -n "+s.ns+" --limit 1")
	if can := s.Follow(s.t, "kubectl auth can-i list secrets -A --as system:serviceaccount:"+namespace+":reroll || true"); !strings.Contains(can, "no") {
		s.t.Errorf("may Reroll list Secrets? %s", can)
	}
}

// upgrade sets other values.
func (s *site) upgrade(values string) {
	s.t.Helper()
	s.Follow(s.t, "helm upgrade reroll helm/reroll --namespace reroll --reuse-values "+values)
}

// expectUpgraded: with a volume, an API that speaks TLS and the admission webhook, the command line finds its way, and the history outlives the pod.
func (s *site) expectUpgraded() {
	ca, err := pki.NewCA("api")
	s.must(err)
	pair, err := ca.Server("reroll.example.com", "reroll.example.com")
	s.must(err)
	s.apply(namespace, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: api-tls}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: %q\n  tls.key: %q\n", pair.CertPEM, pair.KeyPEM))
	old := s.ready(0, "")
	s.upgrade("--set admission.enabled=true --set persistence.enabled=true --set api.tls.existingSecret=api-tls")
	s.edit("in between")
	old = s.ready(0, string(old.UID))
	s.rolled("COLOUR=in between")
	s.tells("healthy · 1 workload", "reroll status")
	s.edit("on the volume")
	s.rolled("COLOUR=on the volume")
	s.tells("ConfigMap/settings", "reroll get reloads -n "+s.ns)
	s.kubectl("delete", "pod", pod, "--namespace="+namespace)
	s.ready(0, string(old.UID))
	s.tells("ConfigMap/settings", "reroll get reloads -n "+s.ns)
}

// expectKilled: the kubelet starts the container again; what changed meanwhile rolls once, and nothing rolls again.
func (s *site) expectKilled() {
	s.must(syscall.Kill(s.process("/reroll", "serve"), syscall.SIGKILL))
	s.edit("while it was dead")
	s.ready(1, "")
	s.rolled("COLOUR=while it was dead")
	s.edit("when it was back")
	s.rolled("COLOUR=when it was back")
}

// expectUninstalled: nothing of Reroll is left.
func (s *site) expectUninstalled() {
	s.Follow(s.t, "helm uninstall reroll --namespace reroll --wait --timeout=4m")
	s.await(func(ctx context.Context) error {
		left, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if pid := s.process("/reroll", "serve"); err == nil && (len(left.Items) > 0 || pid != 0) {
			err = fmt.Errorf("left behind: %d pods, and process %d", len(left.Items), pid)
		}
		return err
	})
}
