package chart_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
)

var imageTag = regexp.MustCompile(`:v?[0-9]+\.[0-9]+\.[0-9]+$`)

// volume is a volume or a folder of the host in a service.
type volume struct{ Source, Target string }

// project is the part of a loaded Compose file that these tests look at.
type project struct {
	Services map[string]struct {
		Image   string   `json:"image"`
		Command []string `json:"command"`
		Configs []struct {
			Source string `json:"source"`
			Target string `json:"target"`
		} `json:"configs"`
		Healthcheck struct {
			Test []string `json:"test"`
		} `json:"healthcheck"`
		Volumes     []volume          `json:"volumes"`
		Environment map[string]string `json:"environment"`
		Ports       []struct {
			HostIP string `json:"host_ip"`
		} `json:"ports"`
	} `json:"services"`
	Configs map[string]struct {
		Content string `json:"content"`
	} `json:"configs"`
}

// compose returns the Compose file as the specification's own loader understands it.
func compose(t *testing.T) project {
	t.Helper()
	out, err := tool(t, "compose", root+"/docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var p project
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestComposeHeaderTakesAllAway: a service of a profile that is not active is none of those that are taken down.
func TestComposeHeaderTakesAllAway(t *testing.T) {
	text, err := os.ReadFile(root + "/docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(text), "\nname: ")
	profiled := strings.Contains(header, "--profile observability up")
	if down := regexp.MustCompile("docker compose[^\n`]* down.*").FindAllString(header, -1); !profiled || !slices.Equal(down, []string{"docker compose --profile '*' down -v"}) {
		t.Errorf("the header brings up a profile: %t, and takes down by %q", profiled, down)
	}
}

func TestComposeRejectsUnknownKeys(t *testing.T) {
	if _, err := tool(t, "compose", "testdata/unknown-key.compose.yaml"); err == nil || !strings.Contains(err.Error(), "imgae") {
		t.Errorf("a misspelt key passed: %v", err)
	}
}

func TestComposeImagesArePinned(t *testing.T) {
	for name, service := range compose(t).Services {
		if !imageTag.MatchString(service.Image) {
			t.Errorf("service %s: image %q has no exact version", name, service.Image)
		}
	}
}

// TestComposeStaysOnThisMachine: the demonstration has an administrator's certificate and an API without authentication.
func TestComposeStaysOnThisMachine(t *testing.T) {
	for name, service := range compose(t).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("service %s publishes a port on %q", name, port.HostIP)
			}
		}
	}
}

// TestComposePathsAreMounted follows each file that a command names to a config or a volume of its service.
func TestComposePathsAreMounted(t *testing.T) {
	paths := 0
	for name, service := range compose(t).Services {
		var mounts []string
		for _, c := range service.Configs {
			mounts = append(mounts, c.Target)
		}
		for _, v := range service.Volumes {
			mounts = append(mounts, v.Target)
		}
		for _, arg := range service.Command {
			_, path, ok := strings.Cut(arg, "=/")
			if !ok || !strings.HasPrefix(arg, "--") {
				continue
			}
			paths++
			if !slices.ContainsFunc(mounts, func(m string) bool { return "/"+path == m || strings.HasPrefix("/"+path, m+"/") }) {
				t.Errorf("service %s: %s lies in no mount of %v", name, arg, mounts)
			}
		}
	}
	if paths == 0 {
		t.Error("no command names a file")
	}
}

// TestComposeFlagsAreTheBinarys compares the flags of each role with the help of the binary.
func TestComposeFlagsAreTheBinarys(t *testing.T) {
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"ingest", "dispatch", "api"} {
		help, err := output(exec.CommandContext(t.Context(), binary, role, "--help"))
		if err != nil {
			t.Fatal(err)
		}
		command := compose(t).Services[role].Command
		if command[0] != role {
			t.Errorf("service %s runs %s", role, command[0])
		}
		for _, arg := range command[1:] {
			if name, _, _ := strings.Cut(arg, "="); !strings.Contains(help, " "+name+" ") {
				t.Errorf("%s knows no %s", role, name)
			}
		}
	}
}

// TestComposeScrapesEveryRole: Prometheus asks each role where it has its metrics, and Grafana has Prometheus and the folder of the dashboards.
func TestComposeScrapesEveryRole(t *testing.T) {
	p := compose(t)
	var scraped struct {
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(p.Configs["prometheus"].Content), &scraped); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, one := range scraped.ScrapeConfigs {
		for _, s := range one.StaticConfigs {
			got = append(got, s.Targets...)
		}
	}
	for name, service := range p.Services {
		for _, arg := range service.Command {
			if port, ok := strings.CutPrefix(arg, "--metrics-address="); ok {
				want = append(want, name+port)
			}
		}
	}
	if slices.Sort(got); len(want) != 3 || !slices.Equal(got, sorted(want)) {
		t.Errorf("Prometheus asks %q, want %q", got, want)
	}
	var sources struct{ Datasources []struct{ URL string } }
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	for name, into := range map[string]any{"grafana-datasources": &sources, "grafana-dashboards": &boards} {
		if err := yaml.Unmarshal([]byte(p.Configs[name].Content), into); err != nil {
			t.Fatal(err)
		}
	}
	prometheus, grafana := p.Services["prometheus"], p.Services["grafana"]
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" || prometheus.Image == "" {
		t.Errorf("Grafana asks %+v", sources)
	}
	for _, provider := range boards.Providers {
		if i := slices.IndexFunc(grafana.Volumes, func(v volume) bool { return v.Target == provider.Options.Path }); i < 0 || !strings.HasSuffix(grafana.Volumes[i].Source, "/helm/reroll/files/dashboards") {
			t.Errorf("dashboards are to be in %s, and the volumes are %v", provider.Options.Path, grafana.Volumes)
		}
	}
	if len(boards.Providers) == 0 {
		t.Error("Grafana has no dashboards")
	}
}

func TestComposeAuditPolicyIsTheCharts(t *testing.T) {
	checkPolicy(t, compose(t).Configs["audit-policy"].Content)
}

// TestComposeRightsAreTheCharts: the dispatcher, whose certificate has no group, may do what the chart lets it do.
func TestComposeRightsAreTheCharts(t *testing.T) {
	rules := func(text string) (rules [][]rbacv1.PolicyRule, subjects []rbacv1.Subject) {
		for _, o := range decode(t, text) {
			switch o := o.(type) {
			case *rbacv1.ClusterRole:
				rules = append(rules, o.Rules)
			case *rbacv1.Role:
				rules = append(rules, o.Rules)
			case *rbacv1.ClusterRoleBinding:
				subjects = append(subjects, o.Subjects...)
			case *rbacv1.RoleBinding:
				subjects = append(subjects, o.Subjects...)
			}
		}
		return rules, subjects
	}
	want, _ := rules(render(t, "--show-only", "templates/rbac.yaml", "--set",
		"deploymentMode=roles,source=audit,nats.url=tls://nats:4222,ingest.tls.existingSecret=tls,rbac.listSecrets=true"))
	got, subjects := rules(compose(t).Configs["rbac"].Content)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2 {
		t.Errorf("rules (-chart +Compose):\n%s", diff)
	}
	for _, s := range subjects {
		if s.Kind != rbacv1.UserKind || s.Name != "reroll-dispatch" {
			t.Errorf("they are granted to %+v", s)
		}
	}
	if len(subjects) != 2 {
		t.Errorf("they are granted %d times", len(subjects))
	}
}

// TestComposeIsHealthyWhenReady: docker compose up --wait waits for every role of Reroll.
func TestComposeIsHealthyWhenReady(t *testing.T) {
	p := compose(t)
	for _, role := range []string{"ingest", "dispatch", "api"} {
		if test := p.Services[role].Healthcheck.Test; !slices.Equal(test, []string{"CMD", "/reroll", "ready"}) {
			t.Errorf("service %s is healthy by %q", role, test)
		}
	}
}

// TestComposeCertificates runs the certificate script and checks that every end of every connection will be believed.
func TestComposeCertificates(t *testing.T) {
	p := compose(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	script := p.Configs["certificates"].Content
	shell(t, dir, script)
	checkPair(t, in("cluster-ca"), in("kube-apiserver"), serves, "kube-apiserver")
	checkPair(t, in("cluster-ca"), in("admin"), asks, "admin")
	checkPair(t, in("cluster-ca"), in("dispatch"), asks, "dispatch")
	shell(t, dir, "openssl x509 -in dispatch.crt -noout -subject -nameopt RFC2253 | grep -x 'subject=CN=reroll-dispatch'")
	checkPair(t, in("audit-ca"), in("reroll"), serves, "ingest")
	checkPair(t, in("audit-ca"), in("audit-client"), asks, "compose.audit.reroll.dev")

	for _, server := range []string{"nats-1", "nats-2", "nats-3"} {
		checkPair(t, in("nats-ca"), in("nats"), serves, server)
	}
	// A route is both ends at once.
	shell(t, dir, "openssl verify -CAfile nats-ca.crt -purpose sslserver nats-route.crt && openssl verify -CAfile nats-ca.crt -purpose sslclient nats-route.crt")
	for _, role := range []string{"ingest", "dispatch", "api"} {
		checkPair(t, in("nats-ca"), in("reroll-"+role), asks, role)
	}

	webhook, user := currentContext(t, p.Configs["audit-webhook"].Content)
	if webhook.Server != "https://ingest:9443/v1/audit/compose" || webhook.CertificateAuthority != "/pki/audit-ca.crt" ||
		user.ClientCertificate != "/pki/audit-client.crt" || user.ClientKey != "/pki/audit-client.key" {
		t.Errorf("the audit webhook uses other files: %+v %+v", webhook, user)
	}
	kubeconfig, err := os.ReadFile(in("kubeconfig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cluster, admin := currentContext(t, string(kubeconfig))
	if cluster.Server != "https://kube-apiserver:6443" || cluster.CertificateAuthority != "/pki/cluster-ca.crt" ||
		admin.ClientCertificate != "/pki/admin.crt" || admin.ClientKey != "/pki/admin.key" {
		t.Errorf("the kubeconfig uses other files: %+v %+v", cluster, admin)
	}
	shell(t, dir, "openssl pkey -in service-account.key -pubout | cmp - service-account.pub")
	shell(t, dir, "cp cluster-ca.crt before\n"+script)
	shell(t, dir, "cmp cluster-ca.crt before")
}
