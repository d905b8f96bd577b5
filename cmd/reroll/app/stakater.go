package app

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// stakaterDialect returns what the settings change about the dialect.
func (s Settings) stakaterDialect() dialect.StakaterOptions { return s.reading().Stakater() }

// metaInfo returns what is told about this process to whoever looks for a reloader in the cluster.
func (p *program) metaInfo() kube.MetaInfo {
	build := kube.BuildInfo{GoVersion: runtime.Version(), ReleaseVersion: p.version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				build.CommitHash = setting.Value
			case "vcs.time":
				build.CommitTime, _ = time.Parse(time.RFC3339, setting.Value)
			}
		}
	}
	return kube.MetaInfo{
		Build: build, Options: p.settings.Options,
		Deployment: kube.DeploymentInfo{Name: p.settings.ReloaderDeployment, Namespace: p.settings.ReloaderNamespace},
	}
}

// secretFlags may hold credentials, and are not told to anybody.
var secretFlags = []string{"nats-url", "webhook-url"}

// optionsOf returns the values of all flags that may be told, by their names in camel case.
func optionsOf(f *pflag.FlagSet) map[string]string {
	told := map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(secretFlags, flag.Name) {
			told[camelCase(flag.Name)] = flag.Value.String()
		}
	})
	return told
}

// camelCase turns the name of a flag into that of a field.
func camelCase(flag string) string {
	words := strings.Split(flag, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
