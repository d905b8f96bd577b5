package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

var cut = regexp.MustCompile(`(?s)--- 8< ---\n(.*?)--- >8 ---`)

// notes returns what helm prints after an installation.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{
		"install", release, chart, "--namespace", namespace, "--dry-run=client", "--kubeconfig", os.DevNull,
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(out, "NOTES:\n")
	if !ok {
		t.Fatalf("no notes in\n%s", out)
	}
	return text
}

// TestNotesFilesAreWhatTheAPIServerReads loads the two printed files with the API server's own loaders.
func TestNotesFilesAreWhatTheAPIServerReads(t *testing.T) {
	const values = "testdata/full/values.yaml"
	files := cut.FindAllStringSubmatch(notes(t, "--values", values), -1)
	if len(files) != 2 {
		t.Fatalf("%d files printed, want a policy and a kubeconfig", len(files))
	}
	checkPolicy(t, files[0][1])
	cluster, user := currentContext(t, files[1][1])
	want := []string{"https://10.96.0.50:443/v1/audit/production-1", "rolls-ingest.reroll-system.svc", "/etc/kubernetes/reroll/ca.crt"}
	if diff := cmp.Diff(want, []string{cluster.Server, cluster.TLSServerName, cluster.CertificateAuthority}); diff != "" {
		t.Errorf("where the API server posts to (-want +printed):\n%s", diff)
	}
	if user.ClientCertificate == "" || user.ClientKey == "" {
		t.Errorf("the API server would not identify itself: %+v", user)
	}
}

func TestNotesWithoutFixedAddressSayHowToFindIt(t *testing.T) {
	text := notes(t)
	if !strings.Contains(text, "kubectl -n reroll-system get service example-reroll-ingest -o jsonpath='{.spec.clusterIP}'") {
		t.Errorf("the notes do not say where SERVICE-ADDRESS comes from:\n%s", text)
	}
}

// TestNotesHideNothingFromAnotherPolicy: the printed rules leave something out, so that who has a policy is sent to the command that merges,
// and not told to put these before theirs.
func TestNotesHideNothingFromAnotherPolicy(t *testing.T) {
	text := notes(t)
	if !strings.Contains(text, "(with a policy of your own: reroll audit policy --merge FILE") || strings.Contains(text, "these rules") {
		t.Errorf("who has a policy is told something else:\n%s", text)
	}
}

func TestNotesWithTokenUseIt(t *testing.T) {
	files := cut.FindAllStringSubmatch(notes(t, "--values", "testdata/namespaced/values.yaml"), -1)
	_, user := currentContext(t, files[1][1])
	if user.TokenFile == "" || user.ClientCertificate != "" {
		t.Errorf("without a client CA the API server must send its token: %+v", user)
	}
}

// TestNotesAreOfTheValues: where API servers find the Service, what they need not be told, and how the API is asked follow the values.
func TestNotesAreOfTheValues(t *testing.T) {
	cases := map[string]struct {
		set   string
		has   []string
		hasNo []string
	}{
		"a node's port, chosen": {
			"ingest.service.type=NodePort,ingest.service.nodePort=30943", []string{"https://NODE-ADDRESS:30943/v1/audit/local"}, []string{"NODE-PORT", "SERVICE-ADDRESS"},
		},
		"a node's port, found": {
			"ingest.service.type=NodePort", []string{"https://NODE-ADDRESS:NODE-PORT/v1/audit/local", "jsonpath='{.spec.ports[0].nodePort}'"}, []string{"SERVICE-ADDRESS"},
		},
		"a balancer": {
			"ingest.service.type=LoadBalancer", []string{"https://BALANCER-ADDRESS:9443/v1/audit/local", "jsonpath='{.status.loadBalancer.ingress[0]}'"}, []string{"SERVICE-ADDRESS"},
		},
		"a balancer with an address of the cluster": {
			"ingest.service.type=LoadBalancer,ingest.service.clusterIP=10.96.0.9", []string{"https://10.96.0.9:9443/v1/audit/local"}, []string{"BALANCER-ADDRESS"},
		},
		"no audit events": {
			"source=watch,hub.url=tls://h:4222",
			[]string{"\n1. Nothing is to be set up", "source=auto", "\n2. See what it did", "\n3. See that it reaches the hub"},
			[]string{"openssl", "ingest-tls", "8< ---"},
		},
		"the API as it is": {"metaInfo=true", []string{"   reroll status\n"}, []string{"token"}},
		"an exposed API":   {"api.expose=true,api.insecureHTTP=true", []string{"create token ACCOUNT --audience=reroll > token", "reroll status --token-file=token"}, nil},
		"an exposed API with TLS": {
			"api.expose=true,api.tls.secretName=t,api.audiences={a}",
			[]string{"create token ACCOUNT --audience=a > token", "reroll status --server=https://127.0.0.1:8080 --certificate-authority=ca.crt --token-file=token"},
			nil,
		},
		"an API for certificates": {
			"api.auth=mtls,api.tls.secretName=t",
			[]string{
				"port-forward pod/example-reroll-0 8080:8080", "a CA in ca.crt of that Secret",
				"reroll status --server=https://127.0.0.1:8080 --certificate-authority=ca.crt --client-certificate=you.crt --client-key=you.key",
			},
			[]string{"create token"},
		},
		"an API for certificates and tokens": {`api.auth=mtls\,token,api.tls.secretName=t`, []string{"--token-file=token"}, []string{"--client-certificate"}},
		"an API for a proxy alone": {
			"api.auth=request-header,api.tls.secretName=t,api.proxyNames={front}",
			[]string{"reroll status --server=https://PROXY"},
			[]string{"port-forward", "--certificate-authority=ca.crt", "create token"},
		},
		"cert-manager, and a client of one's own": {
			"ingest.tls.certManager.enabled=true,ingest.tls.certManager.issuerRef.name=ca,ingest.tls.certManager.auditClient.enabled=false,clusterName=east",
			[]string{"client.crt and client.key for step 2 are yours to make", "for the name east.audit.reroll.dev and clientAuth"},
			[]string{"audit-client"},
		},
		"cert-manager, and tokens": {
			"ingest.tls.certManager.enabled=true,ingest.tls.certManager.issuerRef.name=ca,ingest.tls.clientCA=false,ingest.tokenSecretName=t",
			[]string{"Take the CA from it:"},
			[]string{"client.crt"},
		},
		"no volume":             {"metaInfo=true", []string{"when the pod moves, the history is lost", "persistence.enabled=true"}, nil},
		"a volume":              {"persistence.enabled=true", nil, []string{"history is lost"}},
		"the volume of another": {"natsUrl=nats://n:4222", nil, []string{"history is lost"}},
		"no volume of roles":    {"shape=roles,natsUrl=nats://n:4222", nil, []string{"history is lost"}},
		"a watch":               {"metaInfo=true", []string{"may list and watch Secrets", "--set source=audit", "reroll explain "}, nil},
		"no watch":              {"source=audit", []string{"lists and watches no Secrets"}, []string{"may list and watch"}},
		"a hub": {
			"shape=hub,natsUrl=nats://n:4222,api.expose=true,api.insecureHTTP=true",
			[]string{"reroll nats setup --role=hub ", "reroll nats permissions --role=hub ", "port-forward deployment/example-reroll-api 8080:8080", "reroll clusters --token-file=token"},
			[]string{"--audit-", "openssl", "8< ---", "history is lost"},
		},
		"a cluster of a fleet":        {"hub.url=tls://h:4222,clusterName=east", []string{"--audit-webhook-config-file=", "\n5. See that it reaches the hub: reroll clusters east"}, nil},
		"streams of an administrator": {"natsUrl=nats://n:4222,nats.bindOnly=true", []string{"reroll nats setup --cluster=local "}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := notes(t, "--set", tc.set)
			for _, part := range tc.has {
				if !strings.Contains(text, part) {
					t.Errorf("the notes have no %q:\n%s", part, text)
				}
			}
			for _, part := range tc.hasNo {
				if strings.Contains(text, part) {
					t.Errorf("the notes have %q:\n%s", part, text)
				}
			}
		})
	}
}

func TestNotesWithIPv6Address(t *testing.T) {
	files := cut.FindAllStringSubmatch(notes(t, "--set", "ingest.service.clusterIP=fd00::50"), -1)
	cluster, _ := currentContext(t, files[1][1])
	if want := "https://[fd00::50]:9443/v1/audit/local"; cluster.Server != want {
		t.Errorf("server is %s, want %s", cluster.Server, want)
	}
}

// TestNotesCertificates runs the printed openssl command and checks the certificate as the two ends will. The CA is one that Reroll makes, and
// which the commands before take from its Secret.
func TestNotesCertificates(t *testing.T) {
	text := notes(t, "--set", "clusterName=production-1")
	for _, key := range []string{"crt", "key"} {
		if want := `get secret example-reroll-ingest-ca -o jsonpath='{.data.tls\.` + key + `}' | base64 -d > ca.` + key; !strings.Contains(text, want) {
			t.Errorf("the notes have no %q:\n%s", want, text)
		}
	}
	_, script, _ := strings.Cut(text, "   openssl ")
	script, _, ok := strings.Cut(script, "   rm ca.key")
	if !ok {
		t.Fatalf("the notes have no certificate step:\n%s", text)
	}
	dir := t.TempDir()
	shell(t, dir, `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj "/CN=ca" -keyout ca.key -out ca.crt`)
	shell(t, dir, "openssl "+script)
	checkPair(t, filepath.Join(dir, "ca"), filepath.Join(dir, "client"), asks, "production-1.audit.reroll.dev")
}

// checkPolicy loads a policy with the API server's loader and compares it with the chart's file.
func checkPolicy(t *testing.T, text string) {
	t.Helper()
	if _, err := policy.LoadPolicyFromBytes([]byte(text)); err != nil {
		t.Fatalf("the API server refuses the policy: %v", err)
	}
	var want, got auditv1.Policy
	readYAML(t, chart+"/files/audit-policy.yaml", &want)
	if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-chart's file +here):\n%s", diff)
	}
}

// currentContext loads a kubeconfig as the API server does and returns whom it talks to, and as whom.
func currentContext(t *testing.T, text string) (clientcmdapi.Cluster, clientcmdapi.AuthInfo) {
	t.Helper()
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok {
		t.Fatalf("no current context in\n%s", text)
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		t.Fatalf("the context names what is not there in\n%s", text)
	}
	return *cluster, *user
}

// TestNotesPolicyHearsOfRotations asks the API server's own evaluator, with CSI on: the driver's updates are heard of, and that it
// creates and deletes is not.
func TestNotesPolicyHearsOfRotations(t *testing.T) {
	text := cut.FindAllStringSubmatch(notes(t, "--set", "csi=true"), -1)[0][1]
	loaded, err := policy.LoadPolicyFromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
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
