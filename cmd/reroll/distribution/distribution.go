// Package distribution knows the kinds of clusters: where the API server of each reads files, how it reaches Reroll, and how it is given
// flags. It writes the piece of a distribution's own configuration that has the API server report to Reroll.
//
// A distribution is an entry in All, templates in settings/ and steps/, and a row in docs/audit-events.md.
package distribution

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Files that the API server is given, by their names in its folder.
const (
	PolicyFile     = "audit-policy.yaml"
	KubeconfigFile = "audit-webhook.yaml"
	CAFile         = "ca.crt"
	CertFile       = "client.crt"
	KeyFile        = "client.key"
)

// Distribution is a kind of cluster.
type Distribution struct {
	// Name is how it is called on the command line, and its guide.
	Name string
	// Title is how people call it.
	Title string
	// Dir is the folder of the files as its API server sees it. It is empty if the API server can be given no kubeconfig.
	Dir string
	// Where says how the files get into Dir.
	Where string
	// Forwarded tells that something else than the API server posts its audit events, and shows the client certificate.
	Forwarded bool
	// Embed tells that the API server would not find what the kubeconfig names, so that it carries the content.
	Embed bool
	// Inline tells that the distribution's configuration holds the files themselves. Such a kubeconfig carries all that it needs.
	Inline bool
	// Instead says where audit events come from if the API server can be given no kubeconfig.
	Instead string
	// TakesPolicy tells that it can be given a policy although it can be given no kubeconfig.
	TakesPolicy bool
}

// everyNode is where files are that a static pod or a process reads.
const everyNode = "on every control-plane node"

// All are the distributions, by name.
var All = []Distribution{
	{Name: "aks", Title: "AKS", Instead: "the watch, or diagnostic records of the category kube-audit-admin"},
	{Name: "cluster-api", Title: "Cluster API (kubeadm)", Dir: "/etc/kubernetes/reroll", Embed: true, Inline: true, Where: "which the settings write " + everyNode},
	{Name: "eks", Title: "EKS", Instead: "the watch, or CloudWatch logs through Amazon Data Firehose"},
	{Name: "gardener", Title: "Gardener", TakesPolicy: true, Forwarded: true, Instead: "the watch, or an extension that forwards audit events"},
	{Name: "gke", Title: "GKE", Instead: "the watch, or Cloud Logging entries through Pub/Sub"},
	{Name: "k0s", Title: "k0s", Dir: "/var/lib/k0s/reroll", Where: "on every controller, readable by the user kube-apiserver"},
	{Name: "k3s", Title: "k3s", Dir: "/etc/rancher/k3s/reroll", Where: "on every server"},
	{Name: "kind", Title: "kind", Dir: "/etc/kubernetes/reroll", Where: "in the container of every control-plane node"},
	{Name: "kops", Title: "kOps", Dir: "/srv/kubernetes/kube-apiserver", Embed: true, Inline: true, Where: "which the settings write " + everyNode},
	{Name: "kubeadm", Title: "kubeadm", Dir: "/etc/kubernetes/reroll", Where: everyNode},
	{Name: "kubespray", Title: "Kubespray", Dir: "/etc/kubernetes/reroll", Where: everyNode},
	{Name: "minikube", Title: "minikube", Dir: "/etc/ssl/certs", Embed: true, Where: "from ~/.minikube/files/etc/ssl/certs of the machine that runs minikube"},
	{Name: "openshift", Title: "OpenShift", Forwarded: true, Instead: "the watch, or a ClusterLogForwarder"},
	{Name: "rke2", Title: "RKE2", Dir: "/etc/rancher/rke2/reroll", Embed: true, Where: "on every server"},
	{Name: "talos", Title: "Talos Linux", Dir: "/var/etc/reroll", Embed: true, Inline: true, Where: "which the settings write " + everyNode},
	{Name: "vcluster", Title: "vcluster", Dir: "/etc/reroll", Where: "from the Secret reroll-audit in the namespace of the virtual cluster"},
}

// Names returns the names of all distributions.
func Names() []string {
	names := make([]string, len(All))
	for i, d := range All {
		names[i] = d.Name
	}
	return names
}

// Find returns the distribution of a name.
func Find(name string) (Distribution, error) {
	i := slices.IndexFunc(All, func(d Distribution) bool { return d.Name == name })
	if i < 0 {
		return Distribution{}, fmt.Errorf("%q is not one of %s", name, strings.Join(Names(), ", "))
	}
	return All[i], nil
}

// Guide is where all distributions are explained, in the repository.
const Guide = "docs/audit-events.md"

// SettingsFile is how setup calls the file with the distribution's own configuration.
func (d Distribution) SettingsFile() string {
	if d.Name == "minikube" {
		return "settings.sh"
	}
	return "settings.yaml"
}

// ShowsCertificate reports whether something that posts audit events of the distribution reads a client certificate from a file of its own.
func (d Distribution) ShowsCertificate() bool { return d.Dir != "" && !d.Embed || d.Forwarded }

// Posts reports whether something posts audit events of the distribution that proves whose they are.
func (d Distribution) Posts() bool { return d.Dir != "" || d.Forwarded }

// Path returns where the API server sees one of the files.
func (d Distribution) Path(file string) string { return d.Dir + "/" + file }

// Flag is a flag of the API server, without its dashes.
type Flag struct{ Name, Value string }

// Flags returns the flags of the API server.
func (d Distribution) Flags() []Flag {
	return []Flag{
		{"audit-policy-file", d.Path(PolicyFile)},
		{"audit-webhook-config-file", d.Path(KubeconfigFile)},
		{"audit-webhook-mode", "batch"},
		// Its default has a change wait for up to 30 s.
		{"audit-webhook-batch-max-wait", "100ms"},
		{"audit-webhook-truncate-enabled", "true"},
	}
}

// Header returns a comment that says where one of the files goes.
func (d Distribution) Header(file string) string {
	place := d.Path(file) + ", " + d.Where
	if d.Dir == "" {
		place = d.SettingsFile() + " has it"
	}
	return fmt.Sprintf("# For %s: %s. See %s.\n", d.Title, place, Guide)
}

//go:embed settings/*.tmpl steps/*.tmpl
var templates embed.FS

// Content is what settings and steps are made with.
type Content struct {
	// Policy and Kubeconfig are the two files.
	Policy, Kubeconfig string
	// Ingest is HOST:PORT of the ingest's Service, and Cluster the name of the cluster.
	Ingest, Cluster string
	// Release and Namespace are those of Reroll.
	Release, Namespace string
}

// Standard returns what the chart makes of a release called reroll, in a namespace of that name.
func Standard() Content {
	return Content{Ingest: "reroll-ingest.reroll.svc:9443", Cluster: "local", Release: "reroll", Namespace: "reroll"}
}

// Shipped is where shipped audit logs are posted from inside the cluster.
func (c Content) Shipped() string { return "https://" + c.Ingest + "/v1/shipped/" + c.Cluster }

// WriteSettings returns the piece of the distribution's own configuration that gives its API server the files, or has audit events come
// another way if it takes none. The contents of the two files are used where the configuration holds them.
func (d Distribution) WriteSettings(c Content) ([]byte, error) { return d.fill("settings", c) }

// WriteSteps returns what people do with the files, in numbered steps with the commands of a shell in their folder.
func (d Distribution) WriteSteps(c Content) ([]byte, error) { return d.fill("steps", c) }

// fill puts c and d into the template of d in a folder. A line that names a flag is there once for each of them, or for each but the policy's;
// a line that is a file becomes the file, moved as far to the right. text/template would do it, but it calls methods by name: a linker that
// cannot know which keeps all methods of all types, a quarter of the binary.
func (d Distribution) fill(folder string, c Content) ([]byte, error) {
	text, err := templates.ReadFile(folder + "/" + d.Name + ".tmpl")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title, err)
	}
	values := strings.NewReplacer("{{ .Dir }}", d.Dir, "{{ .Guide }}", Guide, "{{ .Shipped }}", c.Shipped(),
		"{{ .Cluster }}", c.Cluster, "{{ .Release }}", c.Release, "{{ .Namespace }}", c.Namespace)
	files := map[string]string{"{{ .Policy }}": c.Policy, "{{ .Kubeconfig }}": c.Kubeconfig}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		switch file, isFile := files[name]; {
		case isFile:
			margin, _, _ := strings.Cut(line, name)
			b.WriteString(margin + strings.ReplaceAll(strings.TrimRight(file, "\n"), "\n", "\n"+margin) + "\n")
		case strings.Contains(line, "{{ .Value }}"):
			for _, f := range d.Flags() {
				if f.Name != "audit-policy-file" || !strings.Contains(line, "{{ .OtherFlag }}") {
					b.WriteString(strings.NewReplacer("{{ .Flag }}", f.Name, "{{ .OtherFlag }}", f.Name, "{{ .Value }}", f.Value).Replace(line))
				}
			}
		default:
			b.WriteString(values.Replace(line))
		}
	}
	return []byte(b.String()), nil
}
