package chart_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestValuesRejected(t *testing.T) {
	cases := map[string]struct {
		set    string
		says   string
		reason string
	}{
		"unknown key":           {"debounce.windw=1s", "windw", "a misspelt value must not be ignored in silence"},
		"unknown top key":       {"replica=2", "replica", "a misspelt value must not be ignored in silence"},
		"HA on embedded NATS":   {"replicaCount=2", "more than one needs nats.url", "each replica would have a memory of its own"},
		"login to nowhere":      {"nats.existingSecret=s,nats.keys.creds=c", "embedded NATS asks for nothing", "the login would be of no use in silence"},
		"keys of no Secret":     {"nats.url=nats://n:4222,nats.keys.creds=c", "keys of which Secret", "the files would not be there"},
		"two servers of NATS":   {"nats.url=nats://n:4222,nats.replicas=2", "replicas", "a majority of two is two"},
		"two scopes":            {"scope.namespaces={shop},scope.namespaceSelector={env=prod}", "no effect with it", "only one of them would count"},
		"ignored beside named":  {"scope.namespaces={shop},scope.namespacesToIgnore={infra}", "no effect with it", "only one of them would count"},
		"namespace":             {"scope.namespaces={Shop}", "namespaces", "no such namespace can be"},
		"all configs ignored":   {"scope.resourcesToIgnore={configmaps,secrets}", "resourcesToIgnore", "nothing would be left to react to"},
		"workload type":         {"scope.ignoredWorkloadTypes={deployments}", "ignoredWorkloadTypes", "the binary would ignore the whole list"},
		"annotation key":        {"compatibility.annotationKeys.auto=a b", "auto", "no annotation can have that key"},
		"annotation":            {"compatibility.annotationKeys.automatic=a/b", "automatic", "a misspelt key must not be ignored in silence"},
		"alerts to nobody":      {"notifications.enabled=true", "notifications.enabled needs notifications.url", "no alert would ever be sent"},
		"alert sink":            {"notifications.sink=irc", "sink", "alerts would be plain text in silence"},
		"webhook's scheme":      {"reload.webhook.url=ftp://example.com", "url", "it is called by HTTP"},
		"unknown strategy":      {"reload.strategy=restart", "strategy", "restart is a strategy of single workloads"},
		"number for a duration": {"debounce.window=5", "window", "a duration without its unit is ambiguous"},
		"cluster name":          {"clusterName=Prod_1", "clusterName", "it becomes a part of a host name"},
		"empty cluster name":    {"clusterName=", "clusterName", "the audit path would have no cluster"},
		"port out of range":     {"ingest.service.port=70000", "port", "no such port"},
		"string for a boolean":  {"dryRun=maybe", "dryRun", "only true and false"},
		"digest":                {"image.digest=latest", "digest", "a digest is sha256 and 64 digits"},
		"argument":              {"extraArgs={verbose}", "extraArgs", "a flag starts with two dashes"},
		"headless ingest":       {"ingest.service.clusterIP=None", "clusterIP", "the audit kubeconfig needs an address"},
		"nobody recognised":     {"ingest.tls.requireClientCert=false,ingest.tls.existingSecret=s", "nobody could be recognised", "the audit port would be open to all"},
		"a way to be known":     {"api.auth=basic", "auth", "there is no such way"},
		"tokens in clear":       {"api.service.enabled=true", "api.insecureHTTP", "a token that anybody on the way reads is theirs"},
		"names of a closed API": {"api.auth=token,api.hosts={reroll.example}", "api.hosts", "whoever asks proves who they are"},
		"unknown mode":          {"deploymentMode=cluster", "deploymentMode", "there is no such mode"},
		"roles on their own":    {"deploymentMode=roles", "deploymentMode roles needs nats.url", "each process would have a memory of its own"},
		"replicas of no role":   {"deploymentMode=roles,nats.url=nats://n:4222,replicaCount=3", "set ingest.replicaCount", "they would be ignored in silence"},
		"a hub with a hub":      {"deploymentMode=hub,nats.url=nats://n:4222,hub.url=nats://h:4222", "a hub forwards nothing", "api has no such flag"},
		"a hub for a part":      {"scope.namespaces={shop},hub.url=nats://h:4222", "hub.url needs the identity of the cluster", "nothing would be forwarded, and one line of a log tells"},
		"a role's login":        {"ingest.nats.user=i", "one process has one login", "it would be ignored in silence"},
		"a role's keys":         {"deploymentMode=roles,nats.url=nats://n:4222,api.nats.keys.creds=c", "api.nats.existingSecret", "the files would not be there"},
		"issuer of nobody":      {"ingest.tls.certManager.enabled=true", "issuerRef.name", "no certificate would ever come"},
		"issuer for webhooks":   {"admission.enabled=true,admission.tls.certManager.enabled=true", "admission.tls.certManager needs issuerRef.name", "no certificate would ever come"},
		"scraped twice":         {"metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true", "twice", "every rate would be doubled"},
		"peer of no kind":       {"networkPolicy.metrics.from[0].pods=a", "metrics", "the API server would refuse it"},
		"empty peer":            {"networkPolicy.api.from[0]=null", "api", "it would be everybody"},
		"budget in words":       {"podDisruptionBudget.maxUnavailable=half", "maxUnavailable", "a number or a percentage"},
		"spread with selector":  {"topologySpreadConstraints[0].labelSelector=a", "labelSelector", "the chart fills it in"},
		"default taken away":    {"persistence.size=null", "size", "the claim would ask for nothing"},
		"switch taken away":     {"rbac.create=null", "create", "it would be off in silence"},
		"half of a map":         {"rolloutLimits=null", "rolloutLimits", "every brake would be off in silence"},
		"a CA that nobody asks": {"ingest.tls.requireClientCert=false,ingest.tokens.existingSecret=s", "needs ingest.tls.existingSecret", "it would be asked for all the same"},
		"nothing to show":       {"source=audit,dryRun=true", "a dry run makes no certificate", "no change would ever be heard of"},
		"a claim of nobody":     {"persistence.existingClaim=c", "persistence.existingClaim has no effect", "the history would be lost in silence"},
		"a source of another":   {"source=sweep", "source", "the binary refuses it"},
		"a source taken away":   {"source=null", "source", "nothing would say what is granted"},
		"a role of no source":   {"deploymentMode=roles,nats.url=nats://n:4222,source=watch,ingest.extraArgs={--log-level=debug}", "ingest.extraArgs has no effect with deploymentMode roles and source watch", "they would be ignored in silence"},
		"arguments of no role":  {"ingest.extraArgs={--log-level=debug}", "ingest.extraArgs has no effect with deploymentMode one-process, which has no such process: set extraArgs", "they would be ignored in silence"},
		"arguments of the API":  {"api.extraArgs={--log-level=debug}", "api.extraArgs has no effect", "they would be ignored in silence"},
		"arguments of webhooks": {"admission.enabled=true,admission.extraArgs={--log-level=debug}", "admission.extraArgs has no effect", "they would be ignored in silence"},
		"pods of no role":       {"dispatch.pod.priorityClassName=high", "set nodeSelector and its like at the root", "the pod would have another class"},
		"resources of no role":  {"dispatch.resources.limits.memory=1Gi", "dispatch.resources has no effect", "the pod would have others"},
		"arguments at a hub":    {"deploymentMode=hub,nats.url=nats://n:4222,extraArgs={--log-level=debug}", "set api.extraArgs", "they would be ignored in silence"},
		"a webhook at a hub":    {"deploymentMode=hub,nats.url=nats://n:4222,admission.enabled=true", "admission.enabled has no effect at a hub", "nothing would be asked"},
		"a port twice":          {"metrics.port=8080,api.service.enabled=true,api.insecureHTTP=true", "metrics.port and the one of the API are both 8080", "the process would end at its start, for ever"},
		"a port on loopback":    {"metrics.port=8080", "metrics.port and the one of the API are both 8080", "whoever listens on all addresses does so on the loopback"},
		"the port of events":    {"admission.enabled=true,admission.port=9443", "the one of audit events and admission.port are both 9443", "the process would end at its start, for ever"},
		"a role's port twice":   {"deploymentMode=roles,nats.url=nats://n:4222,admission.enabled=true,admission.port=9090", "metrics.port and admission.port are both 9090", "one role would end at its start, for ever"},
		"a password in clear":   {"nats.url=nats://u:p@n:4222", "nats.existingSecret", "it would stand in the arguments of the pod"},
		"a hub's in clear":      {"hub.url=tls://u:p@h:4222", "hub.existingSecret", "it would stand in the arguments of the pod"},
		"no service account":    {"serviceAccount.create=false", "serviceAccount.name", "the namespace's default account has no rights"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tool(t, "helm", "template", release, chart, "--set", tc.set)
			if err == nil {
				t.Fatalf("--set %s was accepted: %s", tc.set, tc.reason)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("--set %s: the message does not name %q: %v", tc.set, tc.says, err)
			}
		})
	}
}

// TestValuesAccepted: what is near to what is refused, and means something.
func TestValuesAccepted(t *testing.T) {
	for name, set := range map[string]string{
		"the same port in two pods":   "deploymentMode=roles,nats.url=nats://n:4222,metrics.port=9091,api.service.port=9443",
		"a webhook that is off":       "admission.port=9443",
		"a webhook that comes later":  "deploymentMode=roles,nats.url=nats://n:4222,admission.replicaCount=3",
		"no ingest, and its port":     "source=watch,admission.enabled=true,admission.port=9443",
		"resources of all, and roles": "deploymentMode=roles,nats.url=nats://n:4222,resources.limits.memory=1Gi,extraArgs={--log-level=debug}",
		"no address of a NATS":        "nats.url=null",
		"no address of a hub":         "hub.url=null",
		"a password nobody reads":     "nats.url=nats://u:p@n:4222,nats.existingSecret=s,nats.keys.url=url",
		"a certificate of no ingest":  "source=watch,ingest.tls.certManager.enabled=true",
		"a certificate at a hub":      "deploymentMode=hub,nats.url=nats://n:4222,ingest.tls.certManager.enabled=true",
		"tokens in clear on purpose":  "api.service.enabled=true,api.insecureHTTP=true",
		"an open API with a name":     "api.service.enabled=true,api.auth=anonymous,api.hosts={reroll.example}",
		"tokens over TLS":             "api.service.enabled=true,api.tls.existingSecret=s",
		"copies of no role":           "ingest.replicaCount=3,dispatch.replicaCount=1,api.replicaCount=3,admission.replicaCount=3",
		"copies of none at a hub":     "deploymentMode=hub,nats.url=nats://n:4222,ingest.replicaCount=3,dispatch.replicaCount=1",
	} {
		t.Run(name, func(t *testing.T) { decode(t, render(t, "--set", set)) })
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
