package admission

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestAnswersHoldNoContent: what the webhook answers is marks, and neither they nor what is logged and counted about them hold content.
func TestAnswersHoldNoContent(t *testing.T) {
	const canary = "w4Hn8bYs6TqC3kVf7ZrM9xPj"
	s := newSite(t)
	file := s.deploymentFile("web", "app", "1", auto, "wave.pusher.com/update-on-config-change")
	s.apply("client", s.configFile("app", canary+"-1"))
	s.apply("client", file)
	answered, err := shared.Kube.Kubectl(s.ctx, "set", "image", "--namespace="+s.ns, "--dry-run=server", "-o", "yaml", "deployment/web", "main=example.com/web:2")
	s.must(err)
	s.settled("web")
	s.apply("client", s.configFile("app", canary+"-2"), s.deploymentFile("web", "app", "2", auto, "wave.pusher.com/update-on-config-change"))
	s.outcomes("web", 1)
	stored, err := shared.Kube.Kubectl(s.ctx, "get", "deployments,replicasets,events", "--namespace="+s.ns, "-o", "yaml")
	s.must(err)
	metrics, err := shared.Reroll.Metrics(s.ctx)
	s.must(err)
	for place, said := range map[string]struct{ text, control string }{
		"an answer":       {answered, "STAKATER_APP_CONFIGMAP"},
		"what was stored": {stored, "wave.pusher.com/config-hash"},
		"the log":         {shared.Reroll.Log(), s.ns},
		"the metrics":     {metrics, "reroll_admission_"},
	} {
		if !strings.Contains(said.text, said.control) {
			t.Errorf("%s does not even have %q: the search proves nothing", place, said.control)
		}
		for _, form := range line.Pieces(canary, []byte(said.text)) {
			t.Errorf("content was found %s in %s", form, place)
		}
	}
}
