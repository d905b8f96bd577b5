package behaviour

import (
	"strings"
	"testing"
	"time"
)

// TestFirstSightOfScope: settings, too, opt in workloads, all of them or those of a namespace once it has a label. What was written before Reroll was
// installed rolls nothing then either, as migrate says beforehand, and the next edit rolls once.
func TestFirstSightOfScope(t *testing.T) {
	s := newRoom(t)
	defer func() { s.away(true, true); s.back() }()
	selected := "scope.namespaceSelector=shop=" + s.NS
	for name, c := range map[string]struct{ annotation, setting string }{
		"all":      {"", "reload.autoAll=true"},
		"selected": {`reroll.dev/auto: "true"`, selected},
	} {
		s.away(true, true)
		s.KubectlWith(strings.Replace(fill(config+"---"+deployment, name, "one", "1"), `reroll.dev/auto: "true"`, c.annotation, 1), "apply", "-f", "-")
		s.runs(name, name, time.Now())
		s.nextSecond(time.Now())
		s.Edit(name, "two")
		s.nextSecond(time.Now())
		if rolls, err := s.Reroll("migrate", "--set", c.setting, "-n", s.NS, "-o", "jsonpath={.items[?(@.rolls==true)].workload}"); err != nil || strings.TrimSpace(rolls) != "" {
			t.Errorf("%s: migrate says that it rolls %s: %v", name, rolls, err)
		}
		s.back("--set", c.setting)
		if name == "selected" {
			s.Kubectl("label", "namespace", s.NS, "shop="+s.NS)
		}
		s.Baselines(name, 1)
		s.Quiet()
		s.changed(name, 0)
		s.Edit(name, "three")
		s.Quiet()
		s.changed(name, 1)
	}
}
