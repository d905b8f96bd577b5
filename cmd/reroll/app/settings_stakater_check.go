package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader/control"
)

// completeStakater reads the lists and the environment that Stakater Reloader knows, and reports each fault. What that tool took
// and ignored is a warning.
func (s *Settings) completeStakater(f *pflag.FlagSet, r role) error {
	for _, l := range s.literalFlags() {
		text, _ := f.GetString(l.flag)
		*l.on = text == "true"
	}
	s.Namespaces, s.NamespacesToIgnore = flags.List(f, namespacesFlag), flags.List(f, namespacesToIgnoreFlag)
	for _, v := range s.variables() {
		v.set(strings.TrimSpace(os.Getenv(v.name)))
	}
	s.Namespace = cmp.Or(s.Namespace, s.PodNamespace)
	err := errors.Join(
		s.Keys.Check(),
		checkNamespaces(namespacesFlag+" or KUBERNETES_NAMESPACE", s.Namespaces),
		checkNamespaces(namespacesToIgnoreFlag, s.NamespacesToIgnore),
		readSelector(&s.NamespaceSelector, f, namespaceSelectorFlag),
		readSelector(&s.ResourceLabelSelector, f, resourceLabelSelectorFlag),
		s.ignoreConfigs(flags.List(f, resourcesToIgnoreFlag)),
		checkURL("--webhook-url", s.WebhookURL, notify.Schemes),
		s.Alerts.check(),
		s.checkHA(r),
	)
	if err != nil {
		return err
	}
	s.ignoreWorkloads(flags.List(f, ignoredWorkloadTypesFlag))
	s.settleScope()
	s.warnOfNoEffect()
	return nil
}

// variable is one environment variable that Stakater Reloader reads. It has no flag.
type variable struct {
	name, meaning string
	set           func(value string)
}

func (s *Stakater) variables() []variable {
	return []variable{
		{"KUBERNETES_NAMESPACE", "the only namespace that counts, if `--namespaces` is empty", s.addNamespace},
		{"POD_NAME", "name of the pod, for `--enable-ha`", text(&s.PodName)},
		{"POD_NAMESPACE", "namespace of the pod, for `--enable-ha`, and the default of `--namespace`", text(&s.PodNamespace)},
		{"METRICS_COUNT_BY_NAMESPACE", "`enabled` counts reloads for each namespace as well", word(&s.CountByNamespace, "enabled")},
		{"ALERT_ON_RELOAD", "`true` sends an alert after each reload", word(&s.Alerts.On, "true")},
		{"ALERT_SINK", "what the alert is for: `slack`, `teams` or `gchat`; plain text otherwise", text(&s.Alerts.Sink)},
		{"ALERT_WEBHOOK_URL", "where alerts go", text(&s.Alerts.URL)},
		{"ALERT_ADDITIONAL_INFO", "text in front of each alert", text(&s.Alerts.Info)},
		{"ALERT_WEBHOOK_PROXY", "URL of the proxy through which alerts go", text(&s.Alerts.Proxy)},
	}
}

func text(target *string) func(string) { return func(value string) { *target = value } }

// word returns a setter of a truth value that exactly one word turns on.
func word(target *bool, on string) func(string) { return func(value string) { *target = value == on } }

func (s *Stakater) addNamespace(name string) {
	if len(s.Namespaces) == 0 && name != "" {
		s.Namespaces = []string{name}
	}
}

func checkNamespaces(origin string, names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("--%s: %.80q is not a namespace's name", origin, name)
		}
	}
	return nil
}

// readSelector sets selector to what a flag's values say together.
func readSelector(selector *labels.Selector, f *pflag.FlagSet, flag string) error {
	items := flags.List(f, flag)
	for i := range items {
		items[i] = modern(items[i])
	}
	text := strings.Join(items, ",")
	parsed, err := control.ParseSelector(text)
	if err != nil {
		return fmt.Errorf("--%s: %.200q: %w", flag, text, err)
	}
	*selector = parsed
	return nil
}

// modern returns a requirement in the syntax of Kubernetes: key:value is key=value, and * as value says that the key exists.
func modern(requirement string) string {
	requirement = strings.Replace(requirement, ":", "=", 1)
	key, value, _ := strings.Cut(requirement, "=")
	if strings.TrimSpace(value) == "*" && !strings.HasSuffix(key, "!") {
		return key
	}
	return requirement
}

// ignorableWorkloads are the words of the flag, and the kinds that they stand for.
var ignorableWorkloads = map[string]string{"jobs": "Job", "cronjobs": "CronJob"}

func (s *Stakater) ignoreConfigs(words []string) (err error) {
	s.IgnoredConfigs, err = flags.Kinds(words)
	return err
}

// ignoreWorkloads takes all words or, as Stakater Reloader does, none if one of them is wrong.
func (s *Settings) ignoreWorkloads(words []string) {
	kinds := map[string]bool{}
	for _, w := range words {
		kind, ok := ignorableWorkloads[w]
		if !ok {
			s.warn("--%s: %.80q is not jobs or cronjobs: the whole list is ignored", ignoredWorkloadTypesFlag, w)
			return
		}
		kinds[kind] = true
	}
	s.IgnoredWorkloads = slices.Sorted(maps.Keys(kinds))
}

// checkURL reports a text that is neither empty nor a URL of one of the schemes. The error does not repeat it: a webhook's URL often
// is its password.
func checkURL(origin, text string, schemes []string) error {
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("%s is not a URL that begins with %s://", origin, strings.Join(schemes, ":// or "))
	}
	return nil
}

var alertSinks = []string{"slack", "teams", "gchat"}

// check reports what would keep alerts from being sent, if they are wanted.
func (a *Alerts) check() error {
	if !a.On {
		return nil
	}
	if a.URL == "" {
		return errors.New("ALERT_ON_RELOAD needs ALERT_WEBHOOK_URL: there is nobody to alert")
	}
	return errors.Join(
		checkURL("ALERT_WEBHOOK_URL", a.URL, notify.Schemes),
		checkURL("ALERT_WEBHOOK_PROXY", a.Proxy, notify.ProxySchemes),
	)
}

func (s *Settings) checkHA(r role) error {
	switch {
	case !s.EnableHA:
		return nil
	case s.PodName == "" || s.PodNamespace == "":
		return errors.New("--enable-ha needs POD_NAME and POD_NAMESPACE in the environment: they tell one replica from the other")
	case r.embeds && s.NATSURL == "":
		return errors.New("--enable-ha needs --nats-url: with its embedded NATS each replica would have a memory of its own")
	}
	return nil
}

// settleScope drops what only counts in all namespaces if some are named.
func (s *Settings) settleScope() {
	if len(s.Namespaces) == 0 {
		return
	}
	if len(s.NamespacesToIgnore) > 0 {
		s.warn("--%s has no effect: --%s names those that count", namespacesToIgnoreFlag, namespacesFlag)
	}
	if !s.NamespaceSelector.Empty() {
		s.warn("--%s has no effect: --%s names those that count", namespaceSelectorFlag, namespacesFlag)
	}
	s.NamespacesToIgnore, s.NamespaceSelector = nil, labels.Everything()
}

// warnOfNoEffect says what was set in vain.
func (s *Settings) warnOfNoEffect() {
	if s.SyncAfterRestart {
		s.warn("--sync-after-restart has no effect: what was created while Reroll was down is found without it")
	}
	if s.WebhookLegacyBody && s.WebhookURL == "" {
		s.warn("--webhook-legacy-body has no effect without --webhook-url")
	}
	if on := os.Getenv("ALERT_ON_RELOAD"); !s.Alerts.On && on != "" && on != "false" {
		s.warn("ALERT_ON_RELOAD=%.20q does not turn alerts on: only the word true does", on)
	}
	sink := strings.ToLower(s.Alerts.Sink)
	if !slices.Contains(alertSinks, sink) {
		if s.Alerts.On && sink != "" && sink != "raw" {
			s.warn("ALERT_SINK=%.20q is not %s: alerts are plain text", s.Alerts.Sink, strings.Join(alertSinks, ", "))
		}
		sink = ""
	}
	s.Alerts.Sink = sink
}

func (s *Settings) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}
