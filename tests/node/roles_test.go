//go:build linux

package node

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/tests/natsserver"
)

// TestRoles runs each role in pods of its own, two of each, over an external NATS: they find each other, the API server finds those who take
// its events and those who keep its marks, and only who asks the API server has a token for it. The release ends with the node.
func TestRoles(t *testing.T) {
	s := newSite(t)
	s.api = "deployment/" + release + "-reroll-api"
	s.space()
	s.certificates()
	s.runHelm(append([]string{"install", release, chart, "--wait", "--timeout=4m", "--set", "deploymentMode=roles,admission.enabled=true", "--set", "nats.url=" + natsserver.Start(s.t, func(o *server.Options) { o.Host, o.StoreDir = nodeAddress, filepath.Join(s.dir, "nats") }).ClientURL()}, settings...)...)
	for role, want := range map[string]int{"ingest": 0, "dispatch": 2, "api": 0, "admission": 2} {
		tokens := s.kubectl("get", "pods", "--namespace="+namespace, "--selector=app.kubernetes.io/component="+role, "--output=jsonpath={.items[*].spec.volumes[*].projected.sources[*].serviceAccountToken.path}")
		if got := strings.Count(tokens, "token"); got != want {
			t.Errorf("%d pods of %s have a token for the API server, want %d", got, role, want)
		}
		s.expectStripped("/reroll", role)
	}
	s.expectRoll()
}
