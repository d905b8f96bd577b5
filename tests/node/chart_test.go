//go:build linux

package node

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const chart = "../../helm/reroll"

// settings are the values of the release: the default mode, with what is different on every machine.
var settings = []string{"--set", "ingest.service.clusterIP=" + ingestAddress, "--set", "ingest.tls.existingSecret=" + release + "-reroll-ingest-tls", "--set", "persistence.enabled=true"}

// TestChart lets a release come, work, be tested, be killed, be changed and go, each in containers.
func TestChart(t *testing.T) {
	s := newSite(t)
	s.space()
	s.expectRestricted()
	s.certificates()
	s.volume()
	s.runHelm(append([]string{"install", release, chart, "--wait", "--timeout=3m"}, settings...)...)
	first := s.ready(0, "")
	for _, step := range []struct {
		name string
		run  func(s *site)
	}{
		{"a change of a config rolls", (*site).expectRoll},
		{"a killed container doubles nothing", (*site).expectKilled},
		{"an upgrade loses nothing", func(s *site) { s.expectUpgraded(string(first.UID)) }},
		{"uninstalling leaves nothing behind", (*site).expectUninstalled},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			inner := *s
			inner.t = t
			step.run(&inner)
		})
		if !ok {
			return // what comes after it stands on it
		}
	}
}

// expectRestricted: a pod that may more than the profile is refused. Without it, that ours are admitted would say nothing.
func (s *site) expectRestricted() {
	s.t.Helper()
	_, err := s.tryApply(namespace, "apiVersion: v1\nkind: Pod\nmetadata: {name: root}\nspec: {containers: [{name: main, image: "+pauseImage+"}]}\n")
	if err == nil || !strings.Contains(err.Error(), "restricted") {
		s.t.Errorf("a pod that may do anything: %v", err)
	}
}

// expectRoll: what changes in a ConfigMap or a Secret is in the environment of new pods, once each, and the audit event has come from the
// API server to the Service.
func (s *site) expectRoll() {
	s.greet("hello")
	s.kubectl("create", "secret", "generic", "account", "--namespace="+s.ns, "--from-literal=password=one")
	s.apply(s.ns, app)
	s.says("GREETING=hello")
	s.settled()
	s.greet("bye")
	s.says("GREETING=bye")
	s.kubectl("patch", "secret", "account", "--namespace="+s.ns, `--patch={"stringData":{"password":"two"}}`)
	s.says("PASSWORD=two")
	s.rolls(2)
	reloads, err := s.reroll().Reloads(s.ctx, s.ns)
	s.must(err)
	for _, r := range reloads {
		if cause := r.Causes[0]; len(cause.Candidates) == 0 || cause.Candidates[0].User != "admin" {
			s.t.Errorf("%s was changed by %+v, and no audit event has told the user", cause.Config.Name, cause.Candidates)
		}
	}
	s.says("STAKATER_SETTINGS_CONFIGMAP=" + s.mark("STAKATER_SETTINGS_CONFIGMAP"))
}

// mark returns what a variable of the app's template holds.
func (s *site) mark(name string) string {
	s.t.Helper()
	deployment, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, "web", metav1.GetOptions{})
	s.must(err)
	for _, e := range deployment.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	s.t.Fatalf("the template has no %s", name)
	return ""
}

// expectKilled: the kubelet starts the container again, with its volume; what changed meanwhile rolls once, and nothing rolls again.
func (s *site) expectKilled() {
	pid := s.process("/reroll", "serve")
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	s.greet("while it was dead")
	s.ready(1, "")
	s.says("GREETING=while it was dead")
	s.greet("when it was back")
	s.says("GREETING=when it was back")
	s.rolls(4)
}

// expectUpgraded: another value rolls Reroll itself. What changes while its pod is replaced rolls once, and the history stays.
func (s *site) expectUpgraded(old string) {
	s.runHelm(append([]string{"upgrade", release, chart, "--set", "admission.enabled=true"}, settings...)...)
	s.greet("in between")
	s.ready(0, old)
	s.says("GREETING=in between")
	s.rolls(5)
}

// expectUninstalled: nothing of Reroll is left.
func (s *site) expectUninstalled() {
	s.runHelm("uninstall", release, "--wait", "--timeout=4m")
	s.await(func(ctx context.Context) error {
		left, err := s.kube.Kubectl(ctx, "get", "pods,jobs,services", "--namespace="+namespace, "--output=name")
		if pid := s.process("/reroll", "serve"); err == nil && (left != "" || pid != 0) {
			err = fmt.Errorf("left behind: %s, and process %d", left, pid)
		}
		return err
	})
}
