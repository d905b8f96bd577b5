// Package config has the settings of reroll serve: one YAML file of types that are documented here, a dozen flags, and --set for everything else.
//
// It promises that a key is known or refused with its line, that a value means what its type says, and that what Load returns fits together as far as
// that can be checked without reaching out. The page docs/configuration.md is generated from these types.
package config

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Config has all settings. Those of parts that a process does not run are checked as well, and have no effect.
type Config struct {
	Process
	Rolling
	Connections

	// Pod names this replica, and its namespace: the downward API sets POD_NAME and POD_NAMESPACE.
	Pod Pod `yaml:"-"`
	// Warnings are settings without effect, one line each, for the log.
	Warnings []string `yaml:"-"`
}

// Pod says where the process runs. Both are empty outside of Kubernetes.
type Pod struct{ Name, Namespace string }

// Process is what the process does, and on which cluster.
type Process struct {
	// DNS label that names the cluster in history, metrics and URLs.
	ClusterName string `yaml:"clusterName" is:"label"`
	// Reroll's namespace. Default: the pod's or the context's.
	Namespace string `yaml:"namespace" is:"label"`
	// [Components](concepts.md#words) to run.
	Components []string `yaml:"components" oneOf:"ingest,dispatch,api,admission"`
	// [Source](audit-events.md#sources) of changes.
	Source string `yaml:"source" oneOf:"auto,audit,watch"`
	// Decide and record, but write nothing.
	DryRun bool `yaml:"dryRun"`
	// Directory of the embedded NATS.
	DataDir string `yaml:"dataDir"`
	// Let a Lease elect the active dispatcher. Requires `nats.url`, `POD_NAME` and `POD_NAMESPACE`.
	LeaderElection bool `yaml:"leaderElection"`
	// Store no users and addresses.
	RedactActors bool       `yaml:"redactActors"`
	Kubernetes   Kubernetes `yaml:"kubernetes"`
	Log          Log        `yaml:"log"`
	Metrics      Metrics    `yaml:"metrics"`
}

// Kubernetes configures the connection to the API server.
type Kubernetes struct {
	// Kubeconfig file. Default: `KUBECONFIG`, the cluster of the pod, `~/.kube/config`.
	Kubeconfig string `yaml:"kubeconfig"`
	// Context of the kubeconfig.
	Context string `yaml:"context"`
	// Requests per second. A burst may have twice as many.
	QPS float32 `yaml:"qps"`
}

// Log configures the log on standard error.
type Log struct {
	// Lowest level to log.
	Level string `yaml:"level" oneOf:"debug,info,warn,error"`
	// Format of each line.
	Format string `yaml:"format" oneOf:"text,json"`
}

// Metrics configures the Prometheus metrics.
type Metrics struct {
	// Address for `/metrics`, `/livez` and `/readyz`.
	Address string `yaml:"address"`
	// Add a counter with one series per namespace.
	CountByNamespace bool `yaml:"countByNamespace"`
}

// Rolling is what rolls, when, and how.
type Rolling struct {
	Scope         Scope         `yaml:"scope"`
	Reload        Reload        `yaml:"reload"`
	Debounce      turn.Debounce `yaml:"debounce"`
	RolloutLimits RolloutLimits `yaml:"rolloutLimits"`
	HotReload     HotReload     `yaml:"hotReload"`
	// Interval of resyncs. 0: one resync, at startup.
	ResyncInterval time.Duration `yaml:"resyncInterval" min:"1s"`
	Notifications  Notifications `yaml:"notifications"`
}

// Scope selects namespaces, configs and workloads.
type Scope struct {
	// Namespaces to include. Default: all.
	Namespaces []string `yaml:"namespaces" is:"label"`
	// Namespaces to exclude. No effect with `namespaces`.
	NamespacesToIgnore []string `yaml:"namespacesToIgnore" is:"label"`
	// Labels of namespaces to include, such as `env=prod`. No effect with `namespaces`.
	NamespaceSelector Selector `yaml:"namespaceSelector"`
	// Labels of configs to include.
	ResourceLabelSelector Selector `yaml:"resourceLabelSelector"`
	// Kind of config to ignore, not both.
	ResourcesToIgnore []string `yaml:"resourcesToIgnore" oneOf:"configmaps,secrets"`
	// Workloads never to roll.
	IgnoredWorkloadTypes []string `yaml:"ignoredWorkloadTypes" oneOf:"jobs,cronjobs"`
}

// Reload configures what triggers a roll, and how Reroll writes it.
type Reload struct {
	// How a roll changes the pod template.
	Strategy string `yaml:"strategy" oneOf:"env-vars,annotations"`
	// Roll every workload for each config that it uses, unless an annotation `auto` of the workload says otherwise.
	AutoAll bool `yaml:"autoAll"`
	// Roll when a config is created.
	OnCreate bool `yaml:"onCreate"`
	// Roll when a config is deleted.
	OnDelete bool `yaml:"onDelete"`
	// Roll Argo Rollouts too.
	ArgoRollouts bool `yaml:"argoRollouts"`
	// Roll for SecretProviderClasses too.
	CSI bool `yaml:"csi"`
	// Dialects of annotations to read, by their [names](annotations.md#which-events-count). Empty: all.
	Dialects []string `yaml:"dialects"`
	// Other keys for Stakater's annotations, by [name](#keys-of-annotations), such as `auto: example.com/auto`.
	AnnotationKeys AnnotationKeys `yaml:"annotationKeys"`
	// Also write the unkeyed [marks of other tools](security.md#what-marks-reveal).
	ToolMarks bool `yaml:"toolMarks"`
	// URL to call instead of rolling workloads.
	WebhookURL string `yaml:"webhookURL" is:"url"`
}

// RolloutLimits hold workloads back: see [rollouts](rollouts.md#rollout-limits).
type RolloutLimits struct {
	turn.Limits
	// Time after which a rollout counts as stalled, if the workload has no `progressDeadlineSeconds`. 0: never.
	Deadline time.Duration `yaml:"deadline"`
	// Roll [in steps](rollouts.md#stop-after-a-failed-rollout), and hold the remaining workloads if a rollout stalls.
	HaltOnFailure bool `yaml:"haltOnFailure"`
}

// HotReload lets workloads [reload without a restart](hot-reload.md), if their annotations ask for it.
type HotReload struct {
	// Allow the strategies `http` and `refresh`.
	Enabled bool `yaml:"enabled"`
	// Allow the strategy `exec` too.
	Exec bool `yaml:"exec"`
	// Longest time that a kubelet takes to update a volume: 1.5 times its `syncFrequency`, plus some seconds.
	Settle time.Duration `yaml:"settle" min:"1s"`
}

// Notifications are chat messages after each roll.
type Notifications struct {
	// URL to post messages to.
	URL string `yaml:"url" is:"url"`
	// Format of a message.
	Sink string `yaml:"sink" oneOf:"text,slack,teams,gchat"`
	// Proxy for messages.
	Proxy string `yaml:"proxy" is:"proxy"`
	// Text before each message.
	AdditionalInfo string `yaml:"additionalInfo"`
}

// Connections are where the process stores, listens and forwards.
type Connections struct {
	NATS      NATS      `yaml:"nats"`
	Hub       Hub       `yaml:"hub"`
	Ingest    Ingest    `yaml:"ingest"`
	API       API       `yaml:"api"`
	Admission Admission `yaml:"admission"`
}

// NATS configures the store of hints and records.
type NATS struct {
	// Addresses of an external NATS, comma-separated. Default: an embedded one.
	URL string `yaml:"url"`
	queue.Login
	// Replicas of each stream in an external NATS: 1, 3 or 5. 0: existing streams keep theirs, new ones get 1.
	Replicas int `yaml:"replicas"`
	// Size limit of [all streams](production.md#streams), such as `4Gi`. Default: 2Gi.
	StoreSize Size `yaml:"storeSize"`
	// Configuration file of the embedded NATS. Reloaded when it changes.
	Config string `yaml:"config"`
}

// Options returns the settings as the queue takes them; the caller adds the rest.
func (n NATS) Options() queue.Options {
	return queue.Options{URL: n.URL, Login: n.Login, Replicas: n.Replicas, MaxStore: int64(n.StoreSize), ConfigFile: n.Config}
}

// Hub configures the connection to a hub, which receives copies of the records: see [many clusters](fleet.md). The
// login keys of `nats`, `credentials` to `tlsKey`, also exist under `hub`.
type Hub struct {
	// Addresses of the hub's NATS, comma-separated.
	URL string `yaml:"url"`
	queue.Login
}

// Options returns the settings as the queue takes them.
func (h Hub) Options() queue.Options { return queue.Options{URL: h.URL, Login: h.Login} }

// Ingest receives audit events from API servers and log shippers.
type Ingest struct {
	// Address for audit events.
	Address string `yaml:"address"`
	// Server certificate file. Default: [Reroll makes one](#the-certificate-of-ingest).
	TLSCert string `yaml:"tlsCert"`
	// Server key file.
	TLSKey string `yaml:"tlsKey"`
	// CA file for [client certificates](#who-may-send-audit-events).
	TLSClientCA string `yaml:"tlsClientCA"`
	// File of [bearer tokens](#who-may-send-audit-events).
	TokenFile string `yaml:"tokenFile"`
	// Accept plain HTTP without authentication, on a loopback address only.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// Service in Reroll's own certificate, and prefix of its Secrets.
	Service string `yaml:"service" is:"label"`
	// Interval of the canaries that [check the feed](audit-events.md#whether-the-feed-works). 0: never.
	CanaryInterval time.Duration `yaml:"canaryInterval" min:"1s"`
}

// API configures the REST API and the dashboard.
type API struct {
	// Address of the API.
	Address string `yaml:"address"`
	// How clients [authenticate](api.md#who-may-ask).
	Auth string `yaml:"auth" oneOf:"none,token,anonymous"`
	// At a hub: what each group [sees](fleet.md#who-sees-what), such as `team-shop prod-*/shop`.
	Rights Rights `yaml:"rights"`
	// Accepted audiences of tokens. Default: the API server's.
	Audiences []string `yaml:"audiences"`
	// Certificate file. Default: plain HTTP.
	TLSCert string `yaml:"tlsCert"`
	// Key file.
	TLSKey string `yaml:"tlsKey"`
	// Accept tokens over HTTP, for a proxy that terminates TLS.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// With `auth: anonymous`: further host names, such as an Ingress's.
	Hosts []string `yaml:"hosts"`
}

// Admission configures the [admission webhook](admission.md).
type Admission struct {
	// Address that API servers call.
	Address string `yaml:"address"`
	// Server certificate file. Default: Reroll makes one.
	TLSCert string `yaml:"tlsCert"`
	// Server key file.
	TLSKey string `yaml:"tlsKey"`
	// MutatingWebhookConfiguration that the dispatcher updates.
	Configuration string `yaml:"configuration"`
	// Service in Reroll's own certificate.
	Service string `yaml:"service" is:"label"`
	// Lifetime of Reroll's own certificate. 0: use `tlsCert` and `tlsKey`.
	CertificateLifetime time.Duration `yaml:"certificateLifetime" min:"10s"`
}

// Default returns the default settings.
func Default() Config {
	return Config{
		Process: Process{
			ClusterName: "local", Components: []string{Ingests, Dispatches, Answers}, Source: SourceAuto, DataDir: "reroll-data",
			Kubernetes: Kubernetes{QPS: 500}, Log: Log{Level: "info", Format: "text"}, Metrics: Metrics{Address: ":9090"},
		},
		Rolling: Rolling{
			Reload:         Reload{Strategy: "env-vars", ToolMarks: true},
			Debounce:       turn.Debounce{Window: time.Second, MaxWait: defaultMaxWait},
			RolloutLimits:  RolloutLimits{Limits: turn.Limits{FlapLimit: 60}, Deadline: 10 * time.Minute},
			HotReload:      HotReload{Settle: 2 * time.Minute},
			ResyncInterval: 10 * time.Minute, Notifications: Notifications{Sink: "text"},
		},
		Connections: Connections{
			Ingest:    Ingest{Address: ":9443", Service: "reroll-ingest", CanaryInterval: time.Minute},
			API:       API{Address: "127.0.0.1:8080", Auth: AuthNone},
			Admission: Admission{Address: ":9444", Service: "reroll-admission", CertificateLifetime: 90 * 24 * time.Hour},
		},
	}
}

const defaultMaxWait = 10 * time.Second
