package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader/control"
)

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	parsed, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// said is what a list of pauses means, one line for each.
func said(t *testing.T, text string) (list []string) {
	t.Helper()
	c := control.Parse(map[string]string{control.PausesKey: text})
	if len(c.Problems) > 0 {
		t.Errorf("%q is not understood: %q", text, c.Problems)
	}
	for _, p := range c.Pauses {
		list = append(list, fmt.Sprintf("%s|%s|%s|%s", p.Namespace, p.Selector, p.Until.Sub(now), p.Reason))
	}
	return list
}

func TestAddPause(t *testing.T) {
	cases := map[string]struct {
		reason, before string
		pause          control.Pause
		want           []string
	}{
		"the first": {
			"there need be no list", "",
			control.Pause{Namespace: "shop", Selector: selector(t, "app=cart"), Until: now.Add(time.Hour), Reason: "sale: 50%"},
			[]string{"shop|app=cart|1h0m0s|sale: 50%"},
		},
		"another": {
			"others stay", `[{namespace: bank, until: "2026-11-21T13:00:00Z"}]`,
			control.Pause{Selector: labels.Everything(), Until: now.Add(time.Minute)},
			[]string{"bank||1h0m0s|", "||1m0s|"},
		},
		"the same again": {
			"the new one holds, also if it ends earlier", `[{namespace: shop, selector: "app = cart", until: "2026-11-21T15:00:00Z", reason: old}]`,
			control.Pause{Namespace: "shop", Selector: selector(t, "app=cart"), Until: now.Add(time.Hour), Reason: "new"},
			[]string{"shop|app=cart|1h0m0s|new"},
		},
		"ended ones go": {
			"nobody else takes them away", `[{namespace: shop, until: "2026-11-21T11:00:00Z"}]`,
			control.Pause{Namespace: "bank", Selector: labels.Everything(), Until: now.Add(time.Hour)},
			[]string{"bank||1h0m0s|"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := control.AddPause(c.before, c.pause, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, said(t, text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestAddPauseRefuses(t *testing.T) {
	valid := control.Pause{Namespace: "shop", Selector: labels.Everything(), Until: now.Add(time.Hour)}
	cases := map[string]struct {
		before string
		edit   func(*control.Pause)
		want   string
	}{
		"a list that somebody has spoilt": {"{not a list", func(*control.Pause) {}, "mend it by hand"},
		"a word that it does not know":    {`[{namespaces: shop, until: "2026-11-21T13:00:00Z"}]`, func(*control.Pause) {}, "mend it by hand"},
		"no namespace's name":             {"", func(p *control.Pause) { p.Namespace = "Shop!" }, "not a DNS-1123 label"},
		"a pause that has ended":          {"", func(p *control.Pause) { p.Until = now }, "at most 30 days"},
		"a pause that nobody remembers":   {"", func(p *control.Pause) { p.Until = now.Add(31 * 24 * time.Hour) }, "at most 30 days"},
		"more than are read":              {strings.Repeat("- {namespace: a, until: \"2026-11-21T13:00:00Z\"}\n", 256), func(*control.Pause) {}, "no more are read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := valid
			c.edit(&p)
			if _, err := control.AddPause(c.before, p, now); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestRemovePauses(t *testing.T) {
	const before = `
- {namespace: shop, selector: "app=cart", until: "2026-11-21T13:00:00Z"}
- {namespace: shop, until: "2026-11-21T13:00:00Z"}
- {until: "2026-11-21T13:00:00Z"}
`
	cases := map[string]struct {
		namespace, selector string
		removed             int
		want                []string
	}{
		"one of three":             {"shop", "app == cart", 1, []string{"shop||1h0m0s|", "||1h0m0s|"}},
		"not what is within it":    {"shop", "", 1, []string{"shop|app=cart|1h0m0s|", "||1h0m0s|"}},
		"that of all namespaces":   {"", "", 1, []string{"shop|app=cart|1h0m0s|", "shop||1h0m0s|"}},
		"none of another selector": {"shop", "app=till", 0, []string{"shop|app=cart|1h0m0s|", "shop||1h0m0s|", "||1h0m0s|"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text, removed, err := control.RemovePauses(before, c.namespace, selector(t, c.selector))
			if err != nil || removed != c.removed {
				t.Fatalf("removed %d, want %d: %v", removed, c.removed, err)
			}
			if diff := cmp.Diff(c.want, said(t, text)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
	last, removed, err := control.RemovePauses(`[{namespace: shop, until: "2026-11-21T13:00:00Z"}]`, "shop", labels.Everything())
	if last != "" || removed != 1 || err != nil {
		t.Errorf("the last one leaves %q, %d, %v", last, removed, err)
	}
	if _, _, err := control.RemovePauses("{", "shop", labels.Everything()); err == nil {
		t.Error("a spoilt list is changed")
	}
}
