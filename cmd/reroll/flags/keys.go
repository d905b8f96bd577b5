package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Keys are the annotations of Stakater Reloader, by their names in an installation.
type Keys struct {
	Auto, Ignore, Search, Match                           string
	ConfigMapReload, ConfigMapAuto, ConfigMapExclude      string
	SecretReload, SecretAuto, SecretExclude               string
	SecretProviderClassReload, SecretProviderClassAuto    string
	SecretProviderClassExclude                            string
	PauseDeployment, PauseDeploymentTime, RolloutStrategy string
}

// Key is a flag that renames an annotation: Flag is its name, Own what the annotation is called without it, and Key where its value goes.
type Key struct {
	Key              *string
	Flag, Own, Usage string
}

// All returns the flags of all annotations.
func (k *Keys) All() []Key {
	return []Key{
		{&k.Auto, "auto-annotation", "reloader.stakater.com/auto", "annotation: reload for every config that the workload refers to"},
		{&k.Ignore, "ignore-annotation", "reloader.stakater.com/ignore", "annotation of a config: its changes do nothing"},
		{&k.Search, "auto-search-annotation", "reloader.stakater.com/search", "annotation: reload for configs with the annotation of --search-match-annotation"},
		{&k.Match, "search-match-annotation", "reloader.stakater.com/match", "annotation of a config: workloads that search reload for it"},
		{&k.ConfigMapReload, "configmap-annotation", "configmap.reloader.stakater.com/reload", "annotation: names of ConfigMaps"},
		{&k.ConfigMapAuto, "configmap-auto-annotation", "configmap.reloader.stakater.com/auto", "annotation: reload for every ConfigMap that the workload refers to"},
		{&k.ConfigMapExclude, "configmap-exclude-annotation", "configmaps.exclude.reloader.stakater.com/reload", "annotation: ConfigMaps that never reload the workload"},
		{&k.SecretReload, "secret-annotation", "secret.reloader.stakater.com/reload", "annotation: names of Secrets"},
		{&k.SecretAuto, "secret-auto-annotation", "secret.reloader.stakater.com/auto", "annotation: reload for every Secret that the workload refers to"},
		{&k.SecretExclude, "secret-exclude-annotation", "secrets.exclude.reloader.stakater.com/reload", "annotation: Secrets that never reload the workload"},
		{&k.SecretProviderClassReload, "secretproviderclass-annotation", "secretproviderclass.reloader.stakater.com/reload", "annotation: names of SecretProviderClasses"},
		{&k.SecretProviderClassAuto, "secretproviderclass-auto-annotation", "secretproviderclass.reloader.stakater.com/auto", "annotation: reload for every SecretProviderClass that the workload refers to"},
		{&k.SecretProviderClassExclude, "secretproviderclass-exclude-annotation", "secretproviderclasses.exclude.reloader.stakater.com/reload", "annotation: SecretProviderClasses that never reload the workload"},
		{&k.PauseDeployment, "pause-deployment-annotation", "deployment.reloader.stakater.com/pause-period", "annotation: how long a Deployment stays paused before it rolls"},
		{&k.PauseDeploymentTime, "pause-deployment-time-annotation", "deployment.reloader.stakater.com/paused-at", "annotation that says since when a Deployment is paused"},
		{&k.RolloutStrategy, "rollout-strategy-annotation", "reloader.stakater.com/rollout-strategy", "annotation of an Argo Rollout: rollout or restart"},
	}
}

// Bind declares them.
func (k *Keys) Bind(f *pflag.FlagSet) {
	for _, flag := range k.All() {
		f.StringVar(flag.Key, flag.Flag, flag.Own, flag.Usage)
	}
}

// Check finds names that no annotation can have.
func (k *Keys) Check() error {
	var errs []error
	for _, flag := range k.All() {
		// Like the API server, which does not mind capitals in the prefix of an annotation.
		if faults := validation.IsQualifiedName(strings.ToLower(*flag.Key)); len(faults) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %.80q cannot be the key of an annotation: %s", flag.Flag, *flag.Key, faults[0]))
		}
	}
	return errors.Join(errs...)
}
