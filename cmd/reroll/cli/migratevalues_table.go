package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mapping is what becomes of one value of Stakater's chart.
type mapping struct {
	// from and to are paths in theirs and ours; to is empty if there is no counterpart.
	from, to string
	// means says what changes with it, or why it is not taken over.
	means string
	// take takes it over; nil if it is not.
	take func(c *conversion, value any) error
}

// podOfOurs is why some fields of the pod are not taken over.
const podOfOurs = "this chart has no such value; a post-renderer of helm can set it"

// mappings are all values of Stakater's chart 2.2. docs/migrate-from-stakater.md is made of it.
var mappings = []mapping{
	same("reloader.autoReloadAll", "reload.autoAll", false),
	same("reloader.isArgoRollouts", "argoRollouts.enabled", false),
	same("reloader.isOpenshift", "rbac.deploymentConfigs", false),
	{"reloader.ignoreSecrets", "scope.resourcesToIgnore", "`secrets` in the list", listed("scope.resourcesToIgnore", "secrets")},
	{"reloader.ignoreConfigMaps", "scope.resourcesToIgnore", "`configmaps` in the list", listed("scope.resourcesToIgnore", "configmaps")},
	{"reloader.ignoreJobs", "scope.ignoredWorkloadTypes", "`jobs` in the list", listed("scope.ignoredWorkloadTypes", "jobs")},
	{"reloader.ignoreCronJobs", "scope.ignoredWorkloadTypes", "`cronjobs` in the list", listed("scope.ignoredWorkloadTypes", "cronjobs")},
	same("reloader.reloadOnCreate", "reload.onCreate", false),
	same("reloader.reloadOnDelete", "reload.onDelete", false),
	same("reloader.syncAfterRestart", "reload.syncAfterRestart", false),
	{"reloader.reloadStrategy", "reload.strategy", "`default` is `env-vars`", oneOf("reload.strategy", map[string]string{
		"default": "env-vars", "env-vars": "env-vars", "annotations": "annotations",
	})},
	{"reloader.namespaces", "scope.namespaces", "a list, or a text with commas", names("scope.namespaces")},
	{"reloader.watchGlobally", "scope.namespaces", "`false` is the one of `--namespace`", takeScope},
	{"reloader.ignoreNamespaces", "scope.namespacesToIgnore", "a list, or a text with commas", names("scope.namespacesToIgnore")},
	{"reloader.namespaceSelector", "scope.namespaceSelector", "", selector("scope.namespaceSelector")},
	{"reloader.resourceLabelSelector", "scope.resourceLabelSelector", "", selector("scope.resourceLabelSelector")},
	{"reloader.logFormat", "log.format", "empty is `json` here", oneOf("log.format", map[string]string{"json": "json", "text": "text"})},
	{"reloader.logLevel", "log.level", "`trace` is `debug`; `fatal` and `panic` are `error`", oneOf("log.level", map[string]string{
		"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "warning": "warn", "error": "error", "fatal": "error", "panic": "error",
	})},
	{"reloader.enableHA", "replicaCount", "with `--nats-url`: replicas share a NATS", takeHA},
	{"reloader.deployment.replicas", "replicaCount", "with `enableHA` there", takeReplicas},
	same("reloader.enablePProf", "pprof.enabled", false),
	{"reloader.pprofAddr", "pprof.address", "", matching("pprof.address", `^\S*:[0-9]{1,5}$`)},
	same("reloader.enableCSIIntegration", "csi.enabled", false),
	same("reloader.enableMetricsByNamespace", "metrics.countByNamespace", false),
	{"reloader.webhookUrl", "reload.webhook.url", "and `reload.webhook.legacyBody`, which sends the same body", takeWebhook},
	{"reloader.deployment.env.open", "notifications", "`ALERT_…`", takeEnvironment("reloader.deployment.env.open")},
	{"reloader.deployment.env.secret", "notifications", "`ALERT_…`; URLs go into a Secret here as well", takeEnvironment("reloader.deployment.env.secret")},
	none("reloader.deployment.env.existing", "variables of Secrets have fixed keys here: notifications.existingSecret with alert-webhook-url"),
	none("reloader.deployment.env.field", "the pod has what it needs of itself"),
	moved("reloader.deployment.nodeSelector", "nodeSelector"),
	moved("reloader.deployment.affinity", "affinity"),
	moved("reloader.deployment.tolerations", "tolerations"),
	{"reloader.deployment.topologySpreadConstraints", "topologySpreadConstraints", "without `labelSelector`, which the chart fills in; with more than one replica", takeSpread},
	moved("reloader.deployment.resources", "resources"),
	moved("reloader.deployment.pod.annotations", "podAnnotations"),
	{"reloader.deployment.priorityClassName", "priorityClassName", "", matching("priorityClassName", objectName)},
	annotation("configmap", "configmap"), annotation("configmap_auto", "configmapAuto"),
	annotation("secret", "secret"), annotation("secret_auto", "secretAuto"),
	annotation("auto", "auto"), annotation("ignore", "ignore"),
	annotation("search", "autoSearch"), annotation("match", "searchMatch"),
	annotation("pausePeriod", "pauseDeployment"), annotation("pauseTime", "pauseDeploymentTime"),
	same("reloader.rbac.enabled", "rbac.create", true),
	none("reloader.rbac.labels", "roles have the labels of the release"),
	same("reloader.serviceAccount.create", "serviceAccount.create", true),
	{"reloader.serviceAccount.name", "serviceAccount.name", "", matching("serviceAccount.name", objectName)},
	moved("reloader.serviceAccount.annotations", "serviceAccount.annotations"),
	none("reloader.serviceAccount.labels", "it has the labels of the release"),
	same("reloader.serviceMonitor.enabled", "metrics.serviceMonitor.enabled", false),
	moved("reloader.serviceMonitor.labels", "metrics.serviceMonitor.labels"),
	{"reloader.serviceMonitor.interval", "metrics.serviceMonitor.interval", "", matching("metrics.serviceMonitor.interval", goDuration)},
	{"reloader.serviceMonitor.timeout", "metrics.serviceMonitor.scrapeTimeout", "", matching("metrics.serviceMonitor.scrapeTimeout", goDuration)},
	none("reloader.serviceMonitor", "its other fields are relabelings and metricRelabelings here"),
	same("reloader.podMonitor.enabled", "metrics.podMonitor.enabled", false),
	moved("reloader.podMonitor.labels", "metrics.podMonitor.labels"),
	{"reloader.podMonitor.interval", "metrics.podMonitor.interval", "", matching("metrics.podMonitor.interval", goDuration)},
	{"reloader.podMonitor.timeout", "metrics.podMonitor.scrapeTimeout", "", matching("metrics.podMonitor.scrapeTimeout", goDuration)},
	none("reloader.podMonitor", "its other fields are relabelings and metricRelabelings here"),
	none("reloader.podDisruptionBudget", "it is there for more than one replica; see podDisruptionBudget"),
	none("reloader.netpol", "other ports and other peers: see networkPolicy"),
	none("reloader.verticalPodAutoscaler", "make one of your own for the StatefulSet"),
	none("reloader.service", "the metrics have a Service of their own"),
	none("reloader.readOnlyRootFileSystem", "it is always so"),
	none("reloader.legacy", "there is nothing older"),
	none("reloader.matchLabels", "labels that select are fixed; podLabels adds others"),
	none("reloader.deployment.securityContext", "the pod is restricted as it is; podSecurityContext, which needs fsGroup for the volume"),
	none("reloader.deployment.containerSecurityContext", "the container is restricted as it is; securityContext"),
	{"reloader.deployment.gomaxprocsOverride", "extraEnv", "the variable `GOMAXPROCS`", takeVariableOf("GOMAXPROCS")},
	{"reloader.deployment.gomemlimitOverride", "extraEnv", "the variable `GOMEMLIMIT`", takeVariableOf("GOMEMLIMIT")},
	none("reloader.deployment.labels", "its labels are fixed; podLabels adds others to the pods"),
	none("reloader.deployment.annotations", "podAnnotations, which the pods have"),
	moved("reloader.deployment.volumes", "extraVolumes"),
	moved("reloader.deployment.volumeMounts", "extraVolumeMounts"),
	none("reloader.deployment.livenessProbe", "probes ask /livez and /readyz; livenessProbe has their timing"),
	none("reloader.deployment.readinessProbe", "probes ask /livez and /readyz; readinessProbe has their timing"),
	none("reloader.deployment.automountServiceAccountToken", "who asks the API server has a token, and nobody else"),
	{"reloader.deployment.revisionHistoryLimit", "revisionHistoryLimit", "", takeCount("revisionHistoryLimit")},
	moved("reloader.deployment.dnsConfig", "dnsConfig"),
	none("reloader.deployment.hostUsers", podOfOurs),
	none("reloader.deployment.runtimeClassName", podOfOurs),
	none("reloader.deployment.schedulerName", podOfOurs),
	none("reloader.deployment", "it is a StatefulSet with probes, volumes and labels of its own"),
	{"image.pullPolicy", "image.pullPolicy", "", oneOf("image.pullPolicy", map[string]string{"Always": "Always", "IfNotPresent": "IfNotPresent", "Never": "Never"})},
	none("image", "it is another image: image.repository, image.tag and image.digest"),
	{"global.imagePullSecrets", "imagePullSecrets", "names, or objects with a name", takePullSecrets},
	{"global.imageRegistry", "global.imageRegistry", "", matching("global.imageRegistry", `^\S+$`)},
	none("global", "neither chart reads another one"),
	none("kubernetes", "the pod finds its API server"),
	none("nameOverride", "its objects are others"),
	none("fullnameOverride", "its objects are others, and may stand beside those of the other release"),
	none("namespace", "the namespace of the release holds everything: helm install --namespace"),
}

// Patterns of values, as in the schema of our chart.
const (
	objectName = `^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	goDuration = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	label      = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	annotated  = `^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
)

func none(from, why string) mapping { return mapping{from: from, means: why} }

// same is a switch, which is set if it is not as it would be anyway.
func same(from, to string, usually bool) mapping {
	return mapping{from, to, "", func(c *conversion, value any) error {
		on, err := boolean(value)
		if err == nil && on != usually {
			c.set(to, on)
		}
		return err
	}}
}

func boolean(value any) (bool, error) {
	switch value {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", shortly(value))
}

// shortly returns a value as text that fits into a line.
func shortly(value any) string {
	text := fmt.Sprint(value)
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return quote(text)
}

func listed(to, word string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		on, err := boolean(value)
		if err == nil && on {
			words, _ := c.get(to).([]any)
			c.set(to, append(words, word))
		}
		return err
	}
}

func oneOf(to string, words map[string]string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		text, _ := value.(string)
		word, ok := words[text]
		if !ok {
			return fmt.Errorf("%s means nothing here", shortly(value))
		}
		c.set(to, word)
		return nil
	}
}

func matching(to, pattern string) func(*conversion, any) error {
	expression := regexp.MustCompile(pattern)
	return func(c *conversion, value any) error {
		text, ok := value.(string)
		if !ok || !expression.MatchString(text) || len(text) > 253 {
			return fmt.Errorf("%s is not what it should be", shortly(value))
		}
		c.set(to, text)
		return nil
	}
}

func annotation(from, to string) mapping {
	return mapping{"reloader.custom_annotations." + from, "compatibility.annotationKeys." + to, "", matching("compatibility.annotationKeys."+to, annotated)}
}

// moved is an object or a list that Kubernetes knows, as it is.
func moved(from, to string) mapping {
	return mapping{from, to, "", func(c *conversion, value any) error {
		asMap, isMap := value.(map[string]any)
		_, isList := value.([]any)
		if isList != slices.Contains([]string{"tolerations", "extraVolumes", "extraVolumeMounts"}, to) || !isList && !isMap || !allMaps(value) {
			return fmt.Errorf("%s is not what it should be", shortly(value))
		}
		if strings.HasSuffix(strings.ToLower(to), "annotations") || strings.HasSuffix(to, "labels") || to == "nodeSelector" {
			value = texts(asMap)
		}
		c.set(to, value)
		return nil
	}}
}

// allMaps reports whether all items are mappings if the value is a list.
func allMaps(value any) bool {
	list, _ := value.([]any)
	return !slices.ContainsFunc(list, func(item any) bool {
		_, isMap := item.(map[string]any)
		return !isMap
	})
}

// texts makes every value a text, as annotations and labels are.
func texts(values map[string]any) map[string]any {
	made := map[string]any{}
	for key, value := range values {
		made[key] = fmt.Sprint(value)
	}
	return made
}

var errNoNames = errors.New("it should be a list of names, or names with commas between them")

func names(to string) func(*conversion, any) error {
	expression := regexp.MustCompile(label)
	return func(c *conversion, value any) error {
		list, ok := value.([]any)
		if text, isText := value.(string); isText {
			ok = true
			for name := range strings.SplitSeq(text, ",") {
				list = append(list, strings.TrimSpace(name))
			}
		}
		seen := map[string]bool{}
		var unique []any
		for _, item := range list {
			name, isText := item.(string)
			if !isText || !expression.MatchString(name) || len(name) > 63 {
				return errNoNames
			}
			if !seen[name] {
				seen[name] = true
				unique = append(unique, name)
			}
		}
		if !ok {
			return errNoNames
		}
		c.set(to, unique)
		return nil
	}
}
