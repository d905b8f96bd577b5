package behaviour

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests, each of which has a namespace of its own there.
var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{
		Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, Flags: []string{"--set", "debounce.window=100ms", "--set", "hotReload.enabled=true", "--set", "hotReload.settle=4s", "--set", "reload.argoRollouts=true"},
	}, func(ctx context.Context, l *line.Line) error {
		_, err := l.Kube.Kubectl(ctx, "apply", "--filename=../testdata/crds/rollouts.argoproj.io.yaml")
		if err == nil {
			_, err = l.Kube.Kubectl(ctx, "wait", "--for=condition=Established", "crd/rollouts.argoproj.io")
		}
		return err
	})
}

// site is a namespace with a workload. What people write there, and about it, they write with plain kubectl; tests/tenancy tries to do so without the right.
type site struct {
	*line.Room
	edits int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Room: line.NewRoom(t, shared)}
	s.Config("settings", "0")
	s.Deploy("web", map[string]string{"reroll.dev/auto": "true"}, line.FromConfigMap("settings"))
	s.Baselines("web", 1)
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "configmap", "reroll-control", "--ignore-not-found")
	})
	return s
}

// request asks for a roll.
func (s *site) request(value string) {
	s.T.Helper()
	s.Kubectl("annotate", "deployment/web", "--overwrite", "reroll.dev/requested="+value)
}

// control makes the ConfigMap reroll-control with a document, and amend writes another one into it.
func (s *site) control(document string) {
	s.T.Helper()
	s.Kubectl("--namespace=default", "create", "configmap", "reroll-control", "--from-literal=control.yaml="+document)
}

func (s *site) amend(document string) {
	s.T.Helper()
	s.Kubectl("--namespace=default", "patch", "configmap", "reroll-control", "-p", fmt.Sprintf(`{"data":{"control.yaml":%q}}`, document))
}

// edit changes the config that the workload uses.
func (s *site) edit() {
	s.T.Helper()
	s.edits++
	s.Edit("settings", fmt.Sprint(s.edits))
}

// rolls returns how often the workload was rolled. The generation of a Deployment counts annotations, too.
func (s *site) rolls() (n int) {
	reloads, err := shared.Reroll.Reloads(s.Ctx(), s.NS)
	s.Must(err)
	for _, r := range reloads {
		if r.Outcome == "Reloaded" {
			n++
		}
	}
	return n
}

func (s *site) rolled(n int) {
	s.AwaitThat(fmt.Sprint("rolls: ", n), func() bool { return s.rolls() == n })
}

func (s *site) held(reason string) {
	s.AwaitThat("held back for "+reason, func() bool {
		hold, err := shared.Reroll.Hold(s.Ctx(), s.NS, "web")
		return err == nil && hold.Reason == reason
	})
}

// stays fails the test if the workload has rolled since. What rolls a moment later makes the next count one too many.
func (s *site) stays(n int) {
	s.T.Helper()
	if got := s.rolls(); got != n {
		s.T.Fatalf("rolled %d times, want %d", got, n)
	}
}

func TestFreeze(t *testing.T) {
	s := newSite(t)
	s.edit()
	s.rolled(1) // nothing was frozen
	s.control("freeze: {reason: incident 7}")
	s.AwaitThat("a freeze", func() bool { return strings.Contains(shared.Reroll.Log(), `frozen=true reason="incident 7"`) })
	s.edit()
	s.held("Frozen")
	s.amend("frezze: {}") // what cannot be read is a freeze, and a problem of the cluster
	s.AwaitThat("a problem", func() bool {
		var page struct {
			Items []struct{ Problems []struct{ Message string } }
		}
		err := shared.Reroll.Get(s.Ctx(), "/api/v1/clusters", &page)
		return err == nil && strings.Contains(fmt.Sprint(page), "frezze")
	})
	s.stays(1)
	s.Kubectl("--namespace=default", "delete", "configmap", "reroll-control")
	s.rolled(2)
}

func TestPause(t *testing.T) {
	s := newSite(t)
	s.edit()
	s.rolled(1)
	s.control("pauses: [{namespace: " + s.NS + ", until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "}]")
	s.AwaitThat("a pause", func() bool { // once Reroll knows the pause, it holds back requests
		s.request(fmt.Sprint(time.Now().UnixNano()))
		hold, err := shared.Reroll.Hold(s.Ctx(), s.NS, "web")
		return err == nil && hold.Reason == "PausedByOperator"
	})
	paused := s.rolls()
	s.edit()
	s.stays(paused)
	s.amend("")
	s.AwaitThat("the end of the pause", func() bool { return s.rolls() > paused })
}

func TestRequest(t *testing.T) {
	s := newSite(t)
	s.request("new certificates")
	s.rolled(1)
	s.request("new certificates") // the same value asks for nothing, to the next process neither
	s.Restart()
	s.stays(1)
	s.request("again")
	s.rolled(2)
}
