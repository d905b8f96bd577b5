package chart_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
)

func TestValuesRejected(t *testing.T) {
	cases := map[string]struct {
		set    string
		says   string
		reason string
	}{
		"unknown key":           {"ingest.replicas=2", "replicas", "a misspelt value must not be ignored in silence"},
		"a key of the chart":    {"config.source=watch", "config.source: the chart sets it", "rights would not follow from it"},
		"HA on embedded NATS":   {"replicaCount=2", "more than one needs nats.url", "each replica would have a memory of its own"},
		"login to nowhere":      {"nats.existingSecret=s", "nats.existingSecret has no effect", "the login would be of no use in silence"},
		"a NATS in two places":  {"config.nats.url=nats://n:4222", "set nats.url", "the pod would have a volume for nothing"},
		"number for a duration": {"metrics.serviceMonitor.interval=5", "interval", "a duration without its unit is ambiguous"},
		"cluster name":          {"clusterName=Prod_1", "clusterName", "it becomes a part of a host name"},
		"string for a boolean":  {"dryRun=maybe", "dryRun", "only true and false"},
		"argument":              {"extraArgs={verbose}", "extraArgs", "a flag starts with two dashes"},
		"headless ingest":       {"ingest.service.clusterIP=None", "clusterIP", "the audit kubeconfig needs an address"},
		"tokens in clear":       {"api.service.enabled=true", "config.api.insecureHTTP", "a token that anybody on the way reads is theirs"},
		"nobody known":          {"api.service.enabled=true,config.api.auth=none", "config.api.auth: none", "the process would end at its start, for ever"},
		"an Ingress to nowhere": {"api.ingress.enabled=true", "api.ingress.enabled needs", "it leads to no Service"},
		"parts on their own":    {"mode=split", "mode split needs nats.url", "each process would have a memory of its own"},
		"replicas of no part":   {"mode=split,nats.url=nats://n:4222,replicaCount=3", "set ingest.replicaCount", "they would be ignored in silence"},
		"a hub with a hub":      {"mode=hub,nats.url=nats://n:4222,hub.url=nats://h:4222", "hub.url is of a cluster", "a hub forwards nothing"},
		"a hub for a part":      {"config.scope.namespaces={shop},hub.url=nats://h:4222", "needs the identity of the cluster", "nothing would be forwarded, and one line of a log tells"},
		"a webhook at a hub":    {"mode=hub,nats.url=nats://n:4222,admission.enabled=true", "no marks are written", "nothing would be asked"},
		"spread with selector":  {"topologySpreadConstraints[0].labelSelector=a", "topologySpreadConstraints", "the chart fills it in"},
		"default taken away":    {"persistence.size=null", "size", "the claim would ask for nothing"},
		"nothing to show":       {"source=audit,dryRun=true", "a dry run makes no certificate", "no change would ever be heard of"},
		"a claim of nobody":     {"persistence.existingClaim=c", "persistence.existingClaim has no effect", "the history would be lost in silence"},
		"a source of another":   {"source=sweep", "source", "the binary refuses it"},
		"a password in clear":   {"nats.url=nats://u:p@n:4222", "nats.existingSecret", "it would stand in the arguments of the pod"},
		"a hub's in clear":      {"hub.url=tls://u:p@h:4222", "hub.existingSecret", "it would stand in the arguments of the pod"},
		"marks of a dry run":    {"admission.enabled=true,dryRun=true", "dryRun", "none would be written"},
		"marks and calls":       {"admission.enabled=true,config.reload.webhookURL=https://example.com", "no marks are written", "nothing would be asked"},
		"two selectors":         {"admission.enabled=true,config.scope.namespaceSelector={env=prod}", "admission.namespaceSelector", "it would be asked about other namespaces"},
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

// TestValuesAccepted: the chart accepts meaningful values that resemble refused ones.
func TestValuesAccepted(t *testing.T) {
	for name, set := range map[string]string{
		"a webhook that comes later": "mode=split,nats.url=nats://n:4222,admission.replicaCount=3",
		"no address of a NATS":       "nats.url=null",
		"no address of a hub":        "hub.url=null",
		"a certificate at a hub":     "mode=hub,nats.url=nats://n:4222,ingest.tls.existingSecret=s",
		"tokens in clear on purpose": "api.service.enabled=true,config.api.insecureHTTP=true",
		"an open API with a name":    "api.service.enabled=true,config.api.auth=anonymous,config.api.hosts={reroll.example}",
		"tokens over TLS":            "api.service.enabled=true,api.tls.existingSecret=s",
		"copies of no part":          "ingest.replicaCount=3,dispatch.replicaCount=1,api.replicaCount=3,admission.replicaCount=3",
	} {
		t.Run(name, func(t *testing.T) { decode(t, render(t, "--set", set)) })
	}
}

// keys are the properties of a part of values.schema.json.
type keys struct {
	Properties           map[string]keys `json:"properties"`
	AdditionalProperties *bool           `json:"additionalProperties"`
}

// TestSchemaHasTheValues: each map that the schema spells out has the keys of values.yaml and refuses others. Helm itself holds the values that a
// definition describes against it.
func TestSchemaHasTheValues(t *testing.T) {
	var schema keys
	var values map[string]any
	text, err := os.ReadFile(chart + "/values.schema.json")
	line.Must(t, err)
	line.Must(t, json.Unmarshal(text, &schema))
	text, err = os.ReadFile(chart + "/values.yaml")
	line.Must(t, err)
	line.Must(t, yaml.UnmarshalStrict(text, &values))
	delete(schema.Properties, "enabled") // of a parent chart, as is global
	delete(schema.Properties, "global")
	compareKeys(t, "values", schema, values)
}

func compareKeys(t *testing.T, path string, schema keys, values map[string]any) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
		t.Errorf("%s (-values.yaml +schema):\n%s", path, diff)
	}
	if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Errorf("%s: the schema accepts unknown keys", path)
	}
	for name, inner := range schema.Properties {
		if m, ok := values[name].(map[string]any); ok && len(inner.Properties) > 0 {
			compareKeys(t, path+"."+name, inner, m)
		}
	}
}

// notes returns what helm prints after an installation.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{
		"install", release, chart, "--namespace", namespace, "--dry-run=client", "--kubeconfig", os.DevNull,
	}, args...)...)
	line.Must(t, err)
	_, text, ok := strings.Cut(out, "NOTES:\n")
	if !ok {
		t.Fatalf("no notes in\n%s", out)
	}
	return text
}

// TestNotesAreOfTheValues: the commands name the release's namespace, and the way in that its API has.
func TestNotesAreOfTheValues(t *testing.T) {
	const status = "   reroll status --reroll-namespace=" + namespace + "\n"
	for name, c := range map[string]struct {
		set       string
		has, lack string
	}{
		"audit events":    {"dryRun=false", "   reroll audit setup --reroll-namespace=" + namespace + " --for kubeadm\n", "REROLL_TOKEN"},
		"no audit events": {"source=watch", "only the field manager", "audit setup"},
		"the API":         {"dryRun=true", status, "create token"},
		"an exposed API":  {"config.api.auth=token,api.service.enabled=true,api.tls.existingSecret=t", "create token ACCOUNT --audience=reroll)\"\n" + status, ""},
		"a hub":           {"mode=hub,nats.url=nats://n:4222", "reroll hub add c1 --set nats.url=", "audit setup"},
	} {
		t.Run(name, func(t *testing.T) {
			text := notes(t, "--set", c.set)
			if !strings.Contains(text, c.has) || c.lack != "" && strings.Contains(text, c.lack) {
				t.Errorf("it has not %q, or has %q:\n%s", c.has, c.lack, text)
			}
		})
	}
}

// TestPolicyHearsOfRotations asks the API server's own evaluator: updates of the Secrets Store CSI driver are heard of, and that it creates and
// deletes is not.
func TestPolicyHearsOfRotations(t *testing.T) {
	loaded, err := policy.LoadPolicyFromFile(chart + "/files/audit-policy.yaml")
	line.Must(t, err)
	evaluator := policy.NewPolicyRuleEvaluator(loaded)
	for verb, want := range map[string]auditv1.Level{
		"update": auditv1.LevelMetadata, "patch": auditv1.LevelMetadata,
		"create": auditv1.LevelNone, "delete": auditv1.LevelNone, "list": auditv1.LevelNone,
	} {
		got := evaluator.EvaluatePolicyRule(authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "system:serviceaccount:csi:driver"}, Verb: verb, Namespace: "shop", ResourceRequest: true,
			APIGroup: "secrets-store.csi.x-k8s.io", APIVersion: "v1", Resource: "secretproviderclasspodstatuses", Name: "web-shop-vault",
		})
		if string(got.Level) != string(want) {
			t.Errorf("%s is recorded at level %s, want %s", verb, got.Level, want)
		}
	}
}
