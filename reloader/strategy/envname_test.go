package strategy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

func TestEnvName(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		config reloader.Config
		want   string
	}{
		"seen":        {"as the tool was seen to write", cm("my.app_config"), "STAKATER_MY_APP_CONFIG_CONFIGMAP"},
		"secret":      {"the kind ends the name", sec("db"), "STAKATER_DB_SECRET"},
		"runs":        {"one underscore for a run", cm("a-.-b"), "STAKATER_A_B_CONFIGMAP"},
		"start":       {"dropped", cm("--a"), "STAKATER_A_CONFIGMAP"},
		"end":         {"kept", cm("a--"), "STAKATER_A__CONFIGMAP"},
		"digits":      {"kept", cm("1.2"), "STAKATER_1_2_CONFIGMAP"},
		"nothing":     {"an empty middle", cm("-"), "STAKATER__CONFIGMAP"},
		"collision 1": {"shares its variable with the next", cm("a.b"), "STAKATER_A_B_CONFIGMAP"},
		"collision 2": {"shares its variable with the one before", cm("a-b"), "STAKATER_A_B_CONFIGMAP"},
	} {
		if got := strategy.EnvName(c.config); got != c.want {
			t.Errorf("%s: EnvName = %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
}

var notKept = regexp.MustCompile(`[^A-Z0-9]+`)

// restated is the rule in other words: runs of anything else become one underscore, and none stays at the start.
func restated(c reloader.Config) string {
	middle := notKept.ReplaceAllString(strings.ToUpper(c.Name), "_")
	return "STAKATER_" + strings.TrimPrefix(middle, "_") + "_" + strings.ToUpper(string(c.Kind))
}

func FuzzEnvName(f *testing.F) {
	for _, name := range []string{"my.app_config", "", "-", "--a--b--", "ünï", "ſ", "\xff\xfe", "A.b-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, c := range []reloader.Config{cm(name), sec(name), {Kind: reloader.SecretProviderClass, Namespace: "ns", Name: name}} {
			if got, want := strategy.EnvName(c), restated(c); got != want {
				t.Errorf("EnvName(%q) = %q, want %q", name, got, want)
			}
		}
	})
}

// FuzzCurrentAnnotation checks that whatever stands in the annotation, reading it neither panics nor shows what is no hash.
func FuzzCurrentAnnotation(f *testing.F) {
	f.Add(`{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"abc"}`)
	f.Add(`{"kind":"configmap","name":"c","namespace":"ns","hash":"hunter2"}`)
	f.Add(`[[[[`)
	hex := regexp.MustCompile(`^[0-9a-f]{0,256}$`)
	f.Fuzz(func(t *testing.T, value string) {
		w := stripped(t, deployment(templateAnnotation(strategy.LastReloadedFromKey, value)))
		if got, _ := strategy.Annotations.Current(w, cm("c")); !hex.MatchString(got) {
			t.Errorf("Current = %q", got)
		}
	})
}
