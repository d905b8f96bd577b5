package app

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// nameOf is what a process is called in logs, metrics and NATS: serve, or the parts that it runs.
func nameOf(s config.Config) string {
	if slices.Equal(s.Components, config.Default().Components) {
		return "serve"
	}
	return strings.Join(s.Components, "+")
}

// dialectsOf returns the dialects that the settings have read, as they have them read.
func dialectsOf(s config.Config) (dialect.Set, error) {
	without := slices.Clone(s.Scope.IgnoredConfigs())
	if !s.Reload.CSI {
		without = append(without, reloader.SecretProviderClass)
	}
	all := dialect.All(dialect.StakaterOptions{Renamed: s.Reload.AnnotationKeys.Renamed(), AutoReloadAll: s.Reload.AutoAll, Without: without})
	return all.Without(s.Scope.IgnoredConfigs()).Choose(s.Reload.Dialects)
}
