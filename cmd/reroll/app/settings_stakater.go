package app

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader"
)

// Stakater are the settings that Stakater Reloader v1 has too, under the same names, with the same types and defaults, and what its
// users missed there. The roles that dispatch have them.
type Stakater struct {
	// Keys are the names of the annotations.
	Keys flags.Keys
	// AutoReloadAll treats a workload that says nothing as if it had asked for all its references.
	AutoReloadAll bool

	// Namespaces are the only ones that count, all if it is empty. NamespacesToIgnore and NamespaceSelector take some out of all:
	// they are empty if Namespaces is not.
	Namespaces, NamespacesToIgnore []string
	// NamespaceSelector and ResourceLabelSelector choose namespaces and configs by their labels; they are never nil.
	NamespaceSelector, ResourceLabelSelector labels.Selector
	// IgnoredConfigs are kinds of config whose changes do nothing, and IgnoredWorkloads kinds of workload that are left alone.
	IgnoredConfigs   []reloader.ConfigKind
	IgnoredWorkloads []string

	ReloadOnCreate, ReloadOnDelete bool
	// SyncAfterRestart has no effect: with ReloadOnCreate, configs that were created while Reroll was down count as created in any case.
	SyncAfterRestart bool
	// ArgoRollouts and CSI turn on Argo's Rollout and the SecretProviderClass.
	ArgoRollouts, CSI bool

	// WebhookURL is called instead of rolling anything. WebhookLegacyBody sends it the body of Stakater Reloader, which says nothing.
	WebhookURL        string
	WebhookLegacyBody bool
	Alerts            Alerts
	// CountByNamespace adds a metric with a series for each namespace.
	CountByNamespace bool

	// EnableHA lets one of several replicas work. PodName and PodNamespace say which replica this is.
	EnableHA              bool
	PodName, PodNamespace string

	EnablePprof bool
	PprofAddr   string
}

// Alerts say who is told of every reload.
type Alerts struct {
	On bool
	// Sink is slack, teams or gchat, or empty for plain text.
	Sink string
	// URL and Proxy may hold credentials.
	URL, Proxy string
	// Info begins every message.
	Info string
}

// The flags that can be given several times, each time with several values between commas.
const (
	namespacesFlag            = "namespaces"
	namespacesToIgnoreFlag    = "namespaces-to-ignore"
	namespaceSelectorFlag     = "namespace-selector"
	resourceLabelSelectorFlag = "resource-label-selector"
	resourcesToIgnoreFlag     = flags.IgnoredKinds
	ignoredWorkloadTypesFlag  = "ignored-workload-types"
)

var listFlags = []struct{ flag, usage string }{
	{namespacesFlag, "the only namespaces that count; all if empty"},
	{namespacesToIgnoreFlag, "namespaces that do not count; not beside --namespaces"},
	{namespaceSelectorFlag, "labels of the namespaces that count, such as env=prod; not beside --namespaces"},
	{resourceLabelSelectorFlag, "labels of the configs that count, such as reload=yes; key:value stands for key=value, and * for any value"},
	{resourcesToIgnoreFlag, flags.IgnoredKindsUsage},
	{ignoredWorkloadTypesFlag, "kinds of workload that are left alone: jobs, cronjobs"},
}

// literalFlag is a truth value whose flag is of type string: it is on if the text is exactly true, and off otherwise.
type literalFlag struct {
	on          *bool
	flag, usage string
}

func (s *Stakater) literalFlags() []literalFlag {
	return []literalFlag{
		{&s.ArgoRollouts, "is-Argo-Rollouts", "roll Argo Rollouts as well; only the word true turns it on"},
		{&s.ReloadOnCreate, "reload-on-create", "reload when a config is created; only the word true turns it on"},
		{&s.ReloadOnDelete, "reload-on-delete", "reload when a config is deleted; only the word true turns it on"},
	}
}

// bindStakaterMarks declares the flags that say which workloads are marked. What needs more than reading goes into its field later, in
// completeStakater.
func (s *Stakater) bindStakaterMarks(f *pflag.FlagSet) {
	s.Keys.Bind(f)
	for _, l := range listFlags {
		f.StringSlice(l.flag, nil, l.usage)
	}
	f.BoolVar(&s.AutoReloadAll, "auto-reload-all", false, "treat every workload that does not say otherwise as if it had opted in to all its references")
	f.BoolVar(&s.CSI, "enable-csi-integration", false, "reload for the SecretProviderClasses of the Secrets Store CSI driver as well")
	f.BoolVar(&s.EnablePprof, "enable-pprof", false, "serve profiles of the process on --pprof-addr")
	f.StringVar(&s.PprofAddr, "pprof-addr", "127.0.0.1:6060", "address of the profiles, on the loopback unless another is given; without --enable-pprof nothing listens there")
}

// bindStakater declares the others.
func (s *Stakater) bindStakater(f *pflag.FlagSet) {
	for _, l := range s.literalFlags() {
		f.String(l.flag, "false", l.usage)
	}
	f.BoolVar(&s.SyncAfterRestart, "sync-after-restart", false, "no effect, accepted for compatibility: with --reload-on-create, configs that were created while Reroll was down count as created in any case")
	f.StringVar(&s.WebhookURL, "webhook-url", "", "URL to call instead of rolling anything")
	f.BoolVar(&s.WebhookLegacyBody, "webhook-legacy-body", false, "send --webhook-url the body of Stakater Reloader, which names nothing")
	f.BoolVar(&s.EnableHA, "enable-ha", false, "one of several replicas works, by a Lease; needs POD_NAME and POD_NAMESPACE in the environment, and --nats-url")
}
