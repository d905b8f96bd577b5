// Package config has the settings of reroll serve: one YAML file of types that are documented here, a dozen flags, and --set for everything else.
//
// It promises that a key is known or refused with its line, that a value means what its type says, and that what Load returns fits together as far as
// that can be checked without reaching out. The page docs/configuration.md is generated from these types.
package config

import "time"

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
	// Name of the cluster in history, metrics and the URL of the audit webhook: a DNS label.
	ClusterName string `yaml:"clusterName" is:"label"`
	// Reroll's own namespace. Default: that of the pod, or of the kubeconfig's context.
	Namespace string `yaml:"namespace" is:"label"`
	// Parts that this process runs. Without `nats.url`, one of them must be `dispatch`.
	Components []string `yaml:"components" oneOf:"ingest,dispatch,api,admission"`
	// What reports changes. `auto`: a watch of the metadata of ConfigMaps and Secrets, and audit events, which add who made a change. `audit`: audit
	// events alone, without the right to list Secrets. `watch`: the watch alone.
	Source string `yaml:"source" oneOf:"auto,audit,watch"`
	// Decide and record, but write nothing to the cluster.
	DryRun bool `yaml:"dryRun"`
	// Directory of the embedded NATS.
	DataDir string `yaml:"dataDir"`
	// One of several replicas dispatches, by a Lease. Needs `nats.url`, and `POD_NAME` and `POD_NAMESPACE` in the environment.
	LeaderElection bool `yaml:"leaderElection"`
	// Keep the names and addresses of users out of all that is stored from now on.
	RedactActors bool       `yaml:"redactActors"`
	Kubernetes   Kubernetes `yaml:"kubernetes"`
	Log          Log        `yaml:"log"`
	Metrics      Metrics    `yaml:"metrics"`
}

// Kubernetes is the way to the API server.
type Kubernetes struct {
	// Kubeconfig file. Default: `KUBECONFIG`, then the cluster that the process runs in, then `~/.kube/config`.
	Kubeconfig string `yaml:"kubeconfig"`
	// Context of the kubeconfig.
	Context string `yaml:"context"`
	// Requests per second, twice as many in a burst.
	QPS float32 `yaml:"qps"`
}

// Log is what is logged to standard error.
type Log struct {
	// Least severe level that is logged.
	Level string `yaml:"level" oneOf:"debug,info,warn,error"`
	// Format of each line.
	Format string `yaml:"format" oneOf:"text,json"`
}

// Metrics are those of Prometheus.
type Metrics struct {
	// Address for `/metrics`, `/livez` and `/readyz`.
	Address string `yaml:"address"`
	// Add a counter with a series for each namespace.
	CountByNamespace bool `yaml:"countByNamespace"`
}

// Rolling is what rolls, when, and how.
type Rolling struct {
	Scope         Scope         `yaml:"scope"`
	Reload        Reload        `yaml:"reload"`
	Debounce      Debounce      `yaml:"debounce"`
	RolloutLimits RolloutLimits `yaml:"rolloutLimits"`
	// Interval between full resyncs, which compare every config without a report of a change: six times as long where metadata may not be listed. 0
	// is at the start only.
	ResyncInterval time.Duration `yaml:"resyncInterval" min:"1s"`
	Notifications  Notifications `yaml:"notifications"`
}

// Scope is which namespaces, configs and workloads count.
type Scope struct {
	// The only namespaces that count. Empty means all.
	Namespaces []string `yaml:"namespaces" is:"label"`
	// Namespaces that do not count. No effect with `namespaces`.
	NamespacesToIgnore []string `yaml:"namespacesToIgnore" is:"label"`
	// Labels of the namespaces that count, such as `env=prod`. No effect with `namespaces`.
	NamespaceSelector Selector `yaml:"namespaceSelector"`
	// Labels of the configs that count.
	ResourceLabelSelector Selector `yaml:"resourceLabelSelector"`
	// Kind of config whose changes have no effect.
	ResourcesToIgnore []string `yaml:"resourcesToIgnore" oneOf:"configmaps,secrets"`
	// Kinds of workloads that are never rolled.
	IgnoredWorkloadTypes []string `yaml:"ignoredWorkloadTypes" oneOf:"jobs,cronjobs"`
}

// Reload is what triggers a roll, and how it is written.
type Reload struct {
	// How a roll is written into the pod template of a workload that does not choose.
	Strategy string `yaml:"strategy" oneOf:"env-vars,annotations"`
	// A workload without annotations counts as opted in to every config that it uses.
	AutoAll bool `yaml:"autoAll"`
	// Roll when a config is created.
	OnCreate bool `yaml:"onCreate"`
	// Roll when a config is deleted.
	OnDelete bool `yaml:"onDelete"`
	// Roll Argo Rollouts as well.
	ArgoRollouts bool `yaml:"argoRollouts"`
	// Roll for the SecretProviderClasses of the Secrets Store CSI driver as well.
	CSI bool `yaml:"csi"`
	// Tools whose annotations are read.
	Dialects []string `yaml:"dialects" oneOf:"reroll,stakater,sap,wave,collaborne,fabric8,trigger"`
	// Other keys of Stakater Reloader's annotations, by their names: `auto: example.com/auto`.
	AnnotationKeys AnnotationKeys `yaml:"annotationKeys"`
	// Write the marks of other tools into workloads with their annotations. They are unkeyed hashes of content. Without them, a roll writes
	// `reroll.dev/config-hash` alone.
	ToolMarks bool `yaml:"toolMarks"`
	// URL to call instead of rolling. `REROLL_WEBHOOK_URL` in the environment wins.
	WebhookURL string `yaml:"webhookURL" is:"url"`
}

// Debounce is how edits that follow each other become one roll.
type Debounce struct {
	// Time without a further change after which a workload rolls. 0 is at once.
	Window time.Duration `yaml:"window"`
	// Longest time that further changes can postpone a roll. At its default, at least as long as the window.
	MaxWait time.Duration `yaml:"maxWait"`
}

// RolloutLimits hold workloads back.
type RolloutLimits struct {
	// Workloads that may roll in a minute, a tenth of them at once. 0 means no limit.
	ReloadsPerMinute int `yaml:"reloadsPerMinute"`
	// Workloads that may be rolling out at a time. 0 means no limit.
	MaxConcurrentRollouts int `yaml:"maxConcurrentRollouts"`
	// Shortest time between two rolls of one workload.
	MinReloadInterval time.Duration `yaml:"minReloadInterval"`
	// Rolls of one workload in about twelve hours, beyond which the pause after each doubles, from a minute up to an hour. 0 means no limit.
	FlapLimit int `yaml:"flapLimit"`
	// When workloads may roll: five fields of cron and a length, such as `CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h`. Empty means always.
	MaintenanceWindows Windows `yaml:"maintenanceWindows"`
	// When a rollout has stalled whose controller sets no deadline, as those of StatefulSets and DaemonSets. 0 means never.
	Deadline time.Duration `yaml:"deadline"`
	// Roll one workload first, then a tenth of the others, then the rest, each when the rollouts before have ended. If one stalls, hold the rest.
	HaltOnFailure bool `yaml:"haltOnFailure"`
}

// Notifications are messages to a chat after each roll.
type Notifications struct {
	// Where messages are posted. Empty sends none. `REROLL_NOTIFICATIONS_URL` in the environment wins.
	URL string `yaml:"url" is:"url"`
	// Format of a message.
	Sink string `yaml:"sink" oneOf:"text,slack,teams,gchat"`
	// URL of the proxy for messages. `REROLL_NOTIFICATIONS_PROXY` in the environment wins.
	Proxy string `yaml:"proxy" is:"proxy"`
	// Text in front of each message.
	AdditionalInfo string `yaml:"additionalInfo"`
}
