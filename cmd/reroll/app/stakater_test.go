package app

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// TestEveryRenamingFlagReachesTheDialect: each flag that names an annotation changes what the dialect reads.
func TestEveryRenamingFlagReachesTheDialect(t *testing.T) {
	var s Settings
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.bind(f, roles[0])
	for _, k := range s.Keys.All() {
		if err := f.Set(k.Flag, "mine/"+k.Flag); err != nil {
			t.Fatal(err)
		}
	}
	d := dialect.Stakater(s.reading().Stakater())
	s.CSI = true
	withCSI := dialect.Stakater(s.reading().Stakater())
	for _, k := range s.Keys.All() {
		csi := strings.HasPrefix(k.Flag, "secretproviderclass")
		if d.KeepsAnnotation("mine/"+k.Flag) == csi || !withCSI.KeepsAnnotation("mine/"+k.Flag) || withCSI.KeepsAnnotation(k.Own) {
			t.Errorf("--%s: the dialect does not read the new name alone", k.Flag)
		}
	}
}

func TestIgnoredConfigsReachTheDialect(t *testing.T) {
	s := Settings{Stakater: Stakater{IgnoredConfigs: []reloader.ConfigKind{reloader.Secret}}}
	d := dialect.Stakater(s.reading().Stakater())
	for key, want := range map[string]bool{"secret.reloader.stakater.com/reload": false, "configmap.reloader.stakater.com/reload": true} {
		if d.KeepsAnnotation(key) != want {
			t.Errorf("%s is read: %v, want %v", key, !want, want)
		}
	}
}
