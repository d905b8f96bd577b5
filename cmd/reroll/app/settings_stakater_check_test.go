package app

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/dispatcher/notify"
)

func TestStakaterSettingsAreRefused(t *testing.T) {
	pod := map[string]string{"POD_NAME": "reroll-0", "POD_NAMESPACE": "infra"}
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"both kinds of config ignored":  {args: []string{"--resources-to-ignore=configmaps,secrets"}, want: "--resources-to-ignore: configmaps and secrets together leave nothing to react to"},
		"another kind ignored":          {args: []string{"--resources-to-ignore=pods"}, want: `--resources-to-ignore: "pods" is not configmaps or secrets`},
		"a namespace that cannot be":    {args: []string{"--namespaces=a,B"}, want: `--namespaces or KUBERNETES_NAMESPACE: "B" is not a namespace's name`},
		"one namespace that cannot be":  {env: map[string]string{"KUBERNETES_NAMESPACE": "a/b"}, want: `KUBERNETES_NAMESPACE: "a/b" is not a namespace's name`},
		"a namespace to ignore":         {args: []string{"--namespaces-to-ignore=kube-*"}, want: `--namespaces-to-ignore: "kube-*" is not a namespace's name`},
		"an annotation without name":    {args: []string{"--auto-annotation="}, want: `--auto-annotation: "" cannot be the key of an annotation`},
		"an annotation with spaces":     {args: []string{"--secret-annotation=my secret"}, want: `--secret-annotation: "my secret" cannot be`},
		"an annotation with two slants": {env: map[string]string{"REROLL_ROLLOUT_STRATEGY_ANNOTATION": "a/b/c"}, want: `--rollout-strategy-annotation: "a/b/c" cannot be`},
		"a webhook that is no URL":      {args: []string{"--webhook-url=hook"}, want: "--webhook-url is not a URL that begins with http:// or https://"},
		"a webhook without host":        {args: []string{"--webhook-url=https:///x"}, want: "--webhook-url is not a URL"},
		"a webhook of another scheme":   {args: []string{"--webhook-url=ftp://host"}, want: "--webhook-url is not a URL"},
		"replicas without a pod":        {args: []string{"--enable-ha", "--nats-url=n"}, want: "--enable-ha needs POD_NAME and POD_NAMESPACE"},
		"replicas without a name":       {env: map[string]string{"POD_NAMESPACE": "infra"}, args: []string{"--enable-ha", "--nats-url=n"}, want: "--enable-ha needs POD_NAME and POD_NAMESPACE"},
		"replicas without a namespace":  {env: map[string]string{"POD_NAME": "a"}, args: []string{"--enable-ha", "--nats-url=n"}, want: "--enable-ha needs POD_NAME and POD_NAMESPACE"},
		"replicas with their own NATS":  {env: pod, args: []string{"--enable-ha"}, want: "--enable-ha needs --nats-url: with its embedded NATS each replica would have a memory of its own"},
		"alerts to nobody":              {env: map[string]string{"ALERT_ON_RELOAD": "true"}, want: "ALERT_ON_RELOAD needs ALERT_WEBHOOK_URL"},
		"alerts to no URL":              {env: map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "hook"}, want: "ALERT_WEBHOOK_URL is not a URL"},
		"alerts through no proxy":       {env: map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "http://hook", "ALERT_WEBHOOK_PROXY": "proxy:80"}, want: "ALERT_WEBHOOK_PROXY is not a URL"},
		"a truth value that is none":    {args: []string{"--enable-ha=on"}, want: "--enable-ha"},
		"a list that breaks off":        {args: []string{`--namespaces="a`}, want: "--namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			if _, err := settingsOf(t, "serve", tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
}

// TestEachFaultHasItsLine shows that one fault does not hide another.
func TestEachFaultHasItsLine(t *testing.T) {
	_, err := settingsOf(t, "serve", "--kube-qps=0", "--namespaces=A", "--webhook-url=x", "--enable-ha", "--auto-annotation=", "--ignore-annotation=")
	if err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("six faults are not six lines:\n%v", err)
	}
}

// TestURLsAreNotRepeated shows that an address which may hold a password is not in an error.
func TestURLsAreNotRepeated(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("ALERT_ON_RELOAD", "true")
	t.Setenv("ALERT_WEBHOOK_URL", "ftp://user:"+secret+"@host")
	t.Setenv("ALERT_WEBHOOK_PROXY", "http://user:"+secret+"@ho st")
	_, err := settingsOf(t, "serve", "--webhook-url=http://host:"+secret)
	if err == nil || strings.Count(err.Error(), "is not a URL") != 3 || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
}

func TestAlerts(t *testing.T) {
	const url = "https://hook/x"
	for name, tc := range map[string]struct {
		env      map[string]string
		want     Alerts
		warnings []string
	}{
		"none":              {},
		"off":               {env: map[string]string{"ALERT_ON_RELOAD": "false", "ALERT_SINK": "slack"}, want: Alerts{Sink: "slack"}},
		"off, and not used": {env: map[string]string{"ALERT_WEBHOOK_URL": "hook"}, want: Alerts{URL: "hook"}},
		"all of it": {
			env:  map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": url, "ALERT_SINK": "gchat", "ALERT_WEBHOOK_PROXY": "socks5://proxy:1", "ALERT_ADDITIONAL_INFO": "prod"},
			want: Alerts{On: true, URL: url, Sink: "gchat", Proxy: "socks5://proxy:1", Info: "prod"},
		},
		"in capitals, with spaces": {
			env:  map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": url + "\n", "ALERT_SINK": " Teams "},
			want: Alerts{On: true, URL: url, Sink: "teams"},
		},
		"plain text": {
			env:  map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": url, "ALERT_SINK": "raw"},
			want: Alerts{On: true, URL: url},
		},
		"a sink that is not there": {
			env:      map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": url, "ALERT_SINK": "pager"},
			want:     Alerts{On: true, URL: url},
			warnings: []string{`ALERT_SINK="pager" is not slack, teams, gchat: alerts are plain text`},
		},
		"another word for true": {
			env:      map[string]string{"ALERT_ON_RELOAD": "True", "ALERT_WEBHOOK_URL": url},
			want:     Alerts{URL: url},
			warnings: []string{`ALERT_ON_RELOAD="True" does not turn alerts on: only the word true does`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			s, err := settingsOf(t, "serve")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.Alerts); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, s.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSchemesAreThoseThatAreSpoken: what the settings let pass is what alerts can be sent through, and nothing else.
func TestSchemesAreThoseThatAreSpoken(t *testing.T) {
	for _, scheme := range append([]string{"socks4", "ftp", "unix"}, notify.ProxySchemes...) {
		a := Alerts{On: true, URL: "https://hook/x", Proxy: scheme + "://proxy:1"}
		spoken, err := notify.NewAlerts(notify.AlertOptions{URL: a.URL, Proxy: a.Proxy}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if (a.check() == nil) != slices.Contains(notify.ProxySchemes, scheme) || (spoken != nil) != (a.check() == nil) {
			t.Errorf("a proxy of scheme %s: the settings say %v, and alerts %v", scheme, a.check(), err)
		}
	}
}

// TestStakaterEnvironment sets every variable, and one after the other shows where it goes.
func TestStakaterEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		set   func(*Settings)
	}{
		"KUBERNETES_NAMESPACE":       {"shop", func(s *Settings) { s.Namespaces = []string{"shop"} }},
		"POD_NAME":                   {"reroll-0", func(s *Settings) { s.PodName = "reroll-0" }},
		"POD_NAMESPACE":              {"infra", func(s *Settings) { s.PodNamespace, s.Namespace = "infra", "infra" }},
		"METRICS_COUNT_BY_NAMESPACE": {"enabled", func(s *Settings) { s.CountByNamespace = true }},
		"ALERT_ON_RELOAD":            {"false", func(*Settings) {}},
		"ALERT_SINK":                 {"slack", func(s *Settings) { s.Alerts.Sink = "slack" }},
		"ALERT_WEBHOOK_URL":          {"http://hook", func(s *Settings) { s.Alerts.URL = "http://hook" }},
		"ALERT_ADDITIONAL_INFO":      {"prod", func(s *Settings) { s.Alerts.Info = "prod" }},
		"ALERT_WEBHOOK_PROXY":        {"http://proxy", func(s *Settings) { s.Alerts.Proxy = "http://proxy" }},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := settingsOf(t, "serve")
			if err != nil {
				t.Fatal(err)
			}
			tc.set(&want)
			t.Setenv(name, tc.value)
			got, err := settingsOf(t, "serve")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, sameSelector); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnNamespaceWinsOverThePods(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "pod")
	if s, err := settingsOf(t, "serve", "--namespace=own"); err != nil || s.Namespace != "own" || s.PodNamespace != "pod" {
		t.Errorf("namespace %q of pod in %q, error %v", s.Namespace, s.PodNamespace, err)
	}
}

// TestOtherRolesIgnoreTheEnvironment shows that what a role does not use cannot stop it.
func TestOtherRolesIgnoreTheEnvironment(t *testing.T) {
	t.Setenv("ALERT_ON_RELOAD", "true")
	t.Setenv("KUBERNETES_NAMESPACE", "A B")
	for _, name := range []string{"ingest", "api"} {
		if _, err := settingsOf(t, name, "--nats-url=n"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsWithoutEffectAreLogged(t *testing.T) {
	s, err := settingsOf(t, "serve", "--sync-after-restart", "--webhook-legacy-body")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s.logWarnings(slog.New(slog.NewTextHandler(&log, nil)))
	for _, want := range []string{
		`level=WARN msg="a setting has no effect" setting="--sync-after-restart has no effect: what was created while Reroll was down is found without it"`,
		`level=WARN msg="a setting has no effect" setting="--webhook-legacy-body has no effect without --webhook-url"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, log.String())
		}
	}
}

func TestLogLevels(t *testing.T) {
	for name, want := range map[string]slog.Level{
		"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "warning": slog.LevelWarn,
		"error": slog.LevelError, "fatal": slog.LevelError, "panic": slog.LevelError, "Warning": slog.LevelWarn, "INFO": slog.LevelInfo,
	} {
		s, err := settingsOf(t, "serve", "--log-level="+name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		logger := newLogger(os.Stderr, s)
		if !logger.Enabled(t.Context(), want) || logger.Enabled(t.Context(), want-1) {
			t.Errorf("--log-level=%s is not %s", name, want)
		}
	}
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"": "msg=hello", "text": "msg=hello", "json": `"msg":"hello"`} {
		s, err := settingsOf(t, "serve", "--log-format="+format)
		if err != nil {
			t.Errorf("%q: %v", format, err)
			continue
		}
		var log strings.Builder
		newLogger(&log, s).Info("hello")
		if !strings.Contains(log.String(), want) {
			t.Errorf("--log-format=%s logs %s", format, log.String())
		}
	}
}
