package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// brought is a workload that says text.
func brought(text string) *workload.Workload {
	w := &workload.Workload{}
	w.Annotations = map[string]string{strategy.BroughtKey: text}
	return w
}

func TestBrought(t *testing.T) {
	app := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	other := reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "app"}
	text := strategy.BroughtWith("", app, "v1", "one")
	text = strategy.BroughtWith(text, other, "v9", "nine")
	text = strategy.BroughtWith(text, app, "v2", "two")
	for _, c := range []struct {
		reason  string
		w       *workload.Workload
		config  reloader.Config
		version string
		sum     string
		is      bool
	}{
		{"the newest counts", brought(text), app, "v2", "two", true},
		{"and not the one before", brought(text), app, "v2", "one", false},
		{"each config has its own", brought(text), other, "v9", "nine", true},
		{"content of another config says nothing", brought(text), other, "v9", "two", false},
		{"nobody says", brought(""), app, "", "two", false},
		{"an earlier release tells of versions", brought(strategy.BroughtEntry(app, "v2")), app, "v2", "two", false},
		{
			"and leaves behind what was told of the content of another version",
			brought(strings.Replace(text, strategy.BroughtEntry(app, "v2"), strategy.BroughtEntry(app, "v3"), 1)), app, "v3", "two", false,
		},
	} {
		if got := strategy.BroughtVersion(c.w, c.config); got != c.version {
			t.Errorf("%s: version %q, want %q", c.reason, got, c.version)
		}
		if got := strategy.BroughtTo(c.w, c.config, c.sum); got != c.is {
			t.Errorf("%s: brought to %s: %v", c.reason, c.sum, got)
		}
	}
}

func TestBroughtIsBounded(t *testing.T) {
	text := ""
	for i := range 1000 {
		text = strategy.BroughtWith(text, reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprint("c-", i)}, "0123456789abcdef", "sum")
	}
	if len(text) > 4096 {
		t.Errorf("%d characters", len(text))
	}
	last := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "c-999"}
	if !strategy.BroughtTo(brought(text), last, "sum") {
		t.Error("the newest is not told")
	}
}
