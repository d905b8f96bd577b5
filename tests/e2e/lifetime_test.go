//go:build nightly

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestLifetime ends and starts one reroll in every way, and looks at what a Deployment went through.
func TestLifetime(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=" + window.String()},
	})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "0"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)

	r.setData("app", "k", "1")
	r.expectRolls("web", 1)

	t.Log("an orderly restart rolls nothing")
	r.must(l.Reroll.Terminate(r.ctx))
	r.restart()
	r.expectRolls("web", 1)

	t.Log("a change while nobody ran is rolled once at the next start")
	r.must(l.Reroll.Terminate(r.ctx))
	r.setData("app", "k", "2")
	r.restart()
	r.expectRolls("web", 2)

	t.Log("several changes around crashes are rolled as often as content differs, and at least once")
	r.setData("app", "k", "3")
	l.Reroll.Kill()
	r.restart()
	r.expectRolls("web", 3)

	t.Log("losing all state rolls nothing that the mark disproves")
	r.must(l.Reroll.Terminate(r.ctx))
	r.must(os.RemoveAll(l.DataDir()))
	r.restart()
	r.expectRolls("web", 3)

	t.Log("losing all state does not hide a change that the mark proves")
	r.must(l.Reroll.Terminate(r.ctx))
	r.must(os.RemoveAll(l.DataDir()))
	r.setData("app", "k", "4")
	r.restart()
	r.expectRolls("web", 4)

	t.Log("a restart of the API server is survived, and the first edit after it rolls")
	r.must(l.Kube.StopAPIServer(r.ctx))
	r.must(l.Kube.StartAPIServer(r.ctx))
	r.must(l.Reroll.WaitReady(r.ctx))
	r.setData("app", "k", "5")
	r.expectRolls("web", 5)
}
