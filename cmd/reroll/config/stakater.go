package config

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// alias is a flag that stands for a key.
type alias struct {
	flag, key, usage string
	// convert changes what Stakater Reloader means otherwise.
	convert func(string) string
	// adds says that the flag can be repeated.
	adds bool
}

// aliases are the flags of Stakater Reloader v1, but for those that rename annotations and those that --help lists. Without a key a flag has no effect.
var aliases = []alias{
	{flag: "auto-reload-all", key: "reload.autoAll"},
	{flag: "reload-strategy", key: "reload.strategy"},
	{flag: "reload-on-create", key: "reload.onCreate", convert: literal},
	{flag: "reload-on-delete", key: "reload.onDelete", convert: literal},
	{flag: "is-Argo-Rollouts", key: "reload.argoRollouts", convert: literal},
	{flag: "enable-csi-integration", key: "reload.csi"},
	{flag: "webhook-url", key: "reload.webhookURL"},
	{flag: "namespaces", key: "scope.namespaces", adds: true},
	{flag: "namespaces-to-ignore", key: "scope.namespacesToIgnore", adds: true},
	{flag: "namespace-selector", key: "scope.namespaceSelector", convert: selector, adds: true},
	{flag: "resource-label-selector", key: "scope.resourceLabelSelector", convert: selector, adds: true},
	{flag: "resources-to-ignore", key: "scope.resourcesToIgnore", adds: true},
	{flag: "ignored-workload-types", key: "scope.ignoredWorkloadTypes", adds: true},
	{flag: "enable-ha", key: "leaderElection"},
	{flag: "sync-after-restart"},
	{flag: "enable-pprof"},
	{flag: "pprof-addr"},
}

// level is a level of that tool.
func level(text string) string {
	switch strings.ToLower(text) {
	case "trace":
		return "debug"
	case "warning":
		return "warn"
	case "fatal", "panic":
		return "error"
	}
	return text
}

// literal is a truth value of that tool: only the word true is true.
func literal(text string) string {
	if text == "true" {
		return text
	}
	return "false"
}

// selector returns requirements in the syntax of Kubernetes: key:value is key=value, and * as value says that the key exists.
func selector(text string) string {
	requirements := strings.Split(text, ",")
	for i, r := range requirements {
		r = strings.Replace(r, ":", "=", 1)
		key, value, _ := strings.Cut(r, "=")
		if strings.TrimSpace(value) == "*" && !strings.HasSuffix(key, "!") {
			r = key
		}
		requirements[i] = r
	}
	return strings.Join(requirements, ",")
}

// takeEnvironment sets what that tool's environment variables ask for. Everything else wins over them.
func (c *Config) takeEnvironment() {
	get := func(name string) string { return strings.TrimSpace(os.Getenv(name)) }
	if only := get("KUBERNETES_NAMESPACE"); only != "" {
		c.Scope.Namespaces = []string{only}
	}
	c.Metrics.CountByNamespace = get("METRICS_COUNT_BY_NAMESPACE") == "enabled"
	if get("ALERT_ON_RELOAD") != "true" {
		return
	}
	n := &c.Notifications
	n.URL, n.Proxy, n.AdditionalInfo = get("ALERT_WEBHOOK_URL"), get("ALERT_WEBHOOK_PROXY"), get("ALERT_ADDITIONAL_INFO")
	if sink := get("ALERT_SINK"); slices.Contains([]string{"slack", "teams", "gchat"}, sink) { // any other is plain text there
		n.Sink = sink
	}
}

func (f *Flags) bindStakater(flags *pflag.FlagSet) {
	all := aliases
	for _, name := range sortedNames() {
		all = append(all, alias{flag: kebab(name) + "-annotation", key: "reload.annotationKeys." + name})
	}
	for _, a := range all {
		flag := f.bind(flags, a)
		if flag.Hidden = true; a.flag == "sync-after-restart" || a.flag == "enable-pprof" {
			flag.NoOptDefVal = "true"
		}
	}
}

var capital = regexp.MustCompile("[A-Z]")

// kebab returns a name as flags have it: secretAuto is secret-auto.
func kebab(name string) string { return strings.ToLower(capital.ReplaceAllString(name, "-$0")) }
