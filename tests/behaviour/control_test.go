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
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set", "hotReload.enabled=true", "--set", "hotReload.settle=4s"},
	}, nil)
}

// TestFreeze: while the ConfigMap reroll-control freezes everything, or cannot be read, a change is held back. It rolls when the ConfigMap is gone.
func TestFreeze(t *testing.T) {
	s := newRoom(t)
	s.usual("web")
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "configmap", "reroll-control", "--ignore-not-found")
	})
	s.Kubectl("--namespace=default", "create", "configmap", "reroll-control", "--from-literal=control.yaml=freeze: {reason: incident 7}")
	s.AwaitThat("a freeze", func() bool { return strings.Contains(shared.Reroll.Log(), `frozen=true reason="incident 7"`) })
	s.Edit("web", "three")
	s.AwaitThat("it to be held back", func() bool {
		hold, err := shared.Reroll.Hold(s.Ctx(), s.NS, "web")
		return err == nil && hold.Reason == "Frozen"
	})
	s.Kubectl("--namespace=default", "patch", "configmap", "reroll-control", "-p", `{"data":{"control.yaml":"frezze: {}"}}`)
	s.AwaitThat("a problem of the cluster", func() bool {
		var page struct {
			Items []struct{ Problems []struct{ Message string } }
		}
		err := shared.Reroll.Get(s.Ctx(), "/api/v1/clusters", &page)
		return err == nil && strings.Contains(fmt.Sprint(page), "frezze")
	})
	s.changed("web", 1)
	s.Kubectl("--namespace=default", "delete", "configmap", "reroll-control")
	s.Reloads("web", 2)
	s.changed("web", 2)
}

// TestRequest: a new value of reroll.dev/requested rolls once. The same value asks for nothing, to the next process neither.
func TestRequest(t *testing.T) {
	s := newRoom(t)
	s.usual("web")
	request := func(value string) {
		s.Kubectl("annotate", "deployment/web", "--overwrite", "reroll.dev/requested="+value)
	}
	request("new certificates")
	s.Reloads("web", 2)
	request("new certificates")
	restart(t)
	s.Quiet()
	s.changed("web", 2)
	request("again")
	s.Reloads("web", 3)
	s.changed("web", 3)
}
