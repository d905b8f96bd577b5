package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/ingest/webhook"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Runs reports whether the process runs a part.
func (c *Config) Runs(component string) bool { return slices.Contains(c.Components, component) }

// Embeds reports whether the process has a NATS of its own.
func (c *Config) Embeds() bool {
	return c.NATS.URL == "" && (c.Runs(Dispatches) || c.NATS.Config != "")
}

// AdmitsAlone reports whether the admission webhook is all there is: it needs no NATS.
func (c *Config) AdmitsAlone() bool { return slices.Equal(c.Components, []string{Admits}) }

// Watches reports whether configs are watched.
func (c *Config) Watches() bool { return c.Source != SourceAudit }

// Ingests reports whether audit events are taken in.
func (c *Config) Ingests() bool { return c.Runs(Ingests) && c.Ingest.Address != "" }

// MakesCertificate reports whether the process keeps the certificate of ingest, for itself or for other processes.
func (c *Config) MakesCertificate() bool {
	return c.Runs(Dispatches) && c.Ingest.Service != "" && c.Source != SourceWatch && !c.DryRun && (!c.Runs(Ingests) || c.ownCertificate())
}

// ownCertificate reports whether ingest shows a certificate that Reroll makes.
func (c *Config) ownCertificate() bool {
	i := c.Ingest
	return i.Address != "" && i.Service != "" && i.TLSCert+i.TLSKey+i.TLSClientCA == "" && !i.InsecureHTTP
}

// IgnoredConfigs are the kinds of config whose changes have no effect.
func (s Scope) IgnoredConfigs() []reloader.ConfigKind {
	return kindsOf(s.ResourcesToIgnore, map[string]reloader.ConfigKind{"configmaps": reloader.ConfigMap, "secrets": reloader.Secret})
}

// IgnoredWorkloads are the kinds of workloads that are left alone.
func (s Scope) IgnoredWorkloads() []string {
	return kindsOf(s.IgnoredWorkloadTypes, map[string]string{"jobs": "Job", "cronjobs": "CronJob"})
}

// AllDialects returns every dialect as the settings have it read.
func (c *Config) AllDialects() dialect.Set {
	without := slices.Clone(c.Scope.IgnoredConfigs())
	if !c.Reload.CSI {
		without = append(without, reloader.SecretProviderClass)
	}
	return dialect.All(dialect.StakaterOptions{Renamed: c.Reload.AnnotationKeys.Renamed(), AutoReloadAll: c.Reload.AutoAll, Without: without}).In(c.ClusterName, c.Scope.IgnoredConfigs())
}

// Dialects returns those whose annotations count.
func (c *Config) Dialects() dialect.Set {
	chosen, _ := c.AllDialects().Choose(c.Reload.Dialects) // Read has checked them
	return chosen
}

func kindsOf[T cmp.Ordered](words []string, kinds map[string]T) (found []T) {
	for _, word := range words {
		found = append(found, kinds[word])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (c *Config) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// complete fills in what follows from other settings, and reports what does not fit together.
func (c *Config) complete() error {
	c.Namespace = cmp.Or(c.Namespace, c.Pod.Namespace)
	if len(c.Scope.Namespaces) > 0 && (len(c.Scope.NamespacesToIgnore) > 0 || !c.Scope.NamespaceSelector.Labels().Empty()) {
		c.warn("scope.namespacesToIgnore and scope.namespaceSelector have no effect: scope.namespaces names those that count")
		c.Scope.NamespacesToIgnore, c.Scope.NamespaceSelector = nil, Selector{}
	}
	if c.Debounce.MaxWait == defaultMaxWait {
		c.Debounce.MaxWait = max(c.Debounce.MaxWait, c.Debounce.Window)
	}
	for i, host := range c.API.Hosts {
		c.API.Hosts[i] = strings.ToLower(strings.TrimSuffix(host, "."))
	}
	c.completeSource()
	return c.check()
}

// completeSource closes ingest where nothing is to post to it.
func (c *Config) completeSource() {
	switch {
	case c.Source == SourceWatch:
		c.Ingest.Address = ""
	case c.Source == SourceAuto && c.Runs(Ingests) && c.DryRun && c.ownCertificate():
		c.Ingest.Address = ""
		c.warn("no audit events are taken in a dry run without ingest.tlsCert: a dry run makes no certificate")
	}
}

// rule is a combination of settings that does not work, and what to do about it.
type rule struct {
	broken bool
	text   string
}

func (c *Config) check() error {
	var errs []error
	if c.Hub.URL != "" {
		if err := c.Hub.Options().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("hub.url: %w", err))
		}
	}
	rules := slices.Concat(c.processRules(), c.connectionRules())
	if c.Runs(Answers) {
		rules = append(rules, c.apiRules()...)
	}
	if c.Runs(Admits) || c.Admission.Configuration != "" {
		rules = append(rules, c.admissionRules()...)
	}
	for _, r := range rules {
		if r.broken {
			errs = append(errs, errors.New(r.text))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) processRules() []rule {
	elects := c.LeaderElection && c.Runs(Dispatches)
	return []rule{
		{len(c.Components) == 0, "components: name one at least"},
		{c.ClusterName == "", "clusterName is empty: it must be the name under which the cluster's audit events come in"},
		{elects && (c.Pod.Name == "" || c.Pod.Namespace == ""), "leaderElection needs POD_NAME and POD_NAMESPACE in the environment, which distinguish the replicas"},
		{elects && c.NATS.URL == "", "leaderElection needs nats.url: with its embedded NATS each replica would have a memory of its own"},
		{c.Embeds() && c.DataDir == "", "dataDir is empty: the embedded NATS keeps its files there"},
		{c.Debounce.MaxWait < c.Debounce.Window, fmt.Sprintf("debounce.maxWait (%s) is shorter than debounce.window (%s)", c.Debounce.MaxWait, c.Debounce.Window)},
		{len(c.Scope.IgnoredConfigs()) > 1, "scope.resourcesToIgnore: configmaps and secrets together leave nothing to react to"},
		{c.HotReload.Exec && !c.HotReload.Enabled, "hotReload.exec has no effect without hotReload.enabled"},
		{c.HotReload.Settle == 0, "hotReload.settle is 0: set a time, such as 2m"},
	}
}

func (c *Config) connectionRules() []rule {
	n := c.NATS
	return []rule{
		{n.URL == "" && !c.Embeds() && !c.AdmitsAlone(), fmt.Sprintf("nats.url is required for --components=%s: the parts meet at an external NATS", strings.Join(c.Components, ","))},
		{n.URL != "" && n.Config != "", "nats.config is for the embedded NATS: configure the one at nats.url itself"},
		{
			n.URL == "" && (n.Config == "" && n.Login != queue.Login{} || n.Replicas != 0),
			"nats.url is empty: set it, or remove nats.replicas and the login settings of nats",
		},
		{c.Hub.URL == "" && c.Hub != (Hub{}), "hub.url is empty: the other hub settings say how to connect to it"},
		{
			c.Runs(Ingests) && c.Ingest.Address == "" && (c.Source == SourceAudit || !c.Runs(Dispatches)),
			"ingest.address is empty: nothing would report changes; set an address",
		},
		{
			c.Source == SourceAudit && c.Ingests() && c.DryRun && c.ownCertificate() && c.Runs(Dispatches),
			"source: audit in a dry run needs ingest.tlsCert: a dry run makes no certificate",
		},
	}
}

func (c *Config) apiRules() []rule {
	a, open := c.API, !webhook.IsLoopback(c.API.Address)
	if a.Auth == AuthAnonymous && open {
		c.warn("api.auth: anonymous: every client that reaches %s may read everything", a.Address)
	}
	reached := "api.address " + a.Address + " can be reached from elsewhere, and "
	return []rule{
		{(a.TLSCert == "") != (a.TLSKey == ""), "api.tlsCert and api.tlsKey belong together"},
		{a.Auth == AuthNone && open, reached + "api.auth: none does not authenticate clients: set api.auth: token; or anonymous if every client that reaches it may read everything"},
		{
			a.Auth == AuthToken && a.TLSCert == "" && !a.InsecureHTTP && open,
			reached + "tokens would cross the network as clear text: set api.tlsCert and api.tlsKey, or set api.insecureHTTP if a proxy encrypts the connections",
		},
		{len(a.Rights) > 0 && a.Auth != AuthToken, "api.rights needs api.auth: token"},
		{len(a.Audiences) > 0 && a.Auth != AuthToken, "api.audiences needs api.auth: token"},
		{len(a.Hosts) > 0 && a.Auth == AuthToken, "api.hosts has no effect where clients authenticate: remove it"},
	}
}

func (c *Config) admissionRules() []rule {
	a, admits, dispatches := c.Admission, c.Runs(Admits), c.Runs(Dispatches)
	return []rule{
		{(a.TLSCert == "") != (a.TLSKey == ""), "admission.tlsCert and admission.tlsKey belong together"},
		{admits && a.Address == "", "admission.address is empty: set an address"},
		{c.Reload.WebhookURL != "", "admission has no use with reload.webhookURL, which writes no marks"},
		{c.DryRun && dispatches, "admission has no use in a dry run, which publishes no secret path"},
		{
			dispatches && a.Configuration == "",
			"admission.configuration is empty, so that no API server learns the secret path: name the MutatingWebhookConfiguration",
		},
		{
			dispatches && admits && a.TLSCert == "" && a.CertificateLifetime == 0,
			"admission.certificateLifetime is 0: set admission.tlsCert and admission.tlsKey, or a lifetime",
		},
	}
}
