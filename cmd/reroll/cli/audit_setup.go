package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

const (
	// auditFolder is where setup writes unless it is told otherwise.
	auditFolder = "reroll-audit"
	// A certificate that lasts less than an hour is over before it is in place; one of more than ten years is not replaced by anybody who knows how.
	leastLifetime, mostLifetime = time.Hour, 10 * 365 * 24 * time.Hour
	// The keys of a Secret with a certificate.
	certKey, keyKey, caKey = "tls.crt", "tls.key", "ca.crt"
)

// auditSetup is what the files are made of.
type auditSetup struct {
	version                                 string
	distribution                            string
	kubeconfig, context, namespace, release string
	out, policy, cluster, server            string
	caCert, caKey, token                    string
	lifetime                                time.Duration
	force                                   bool
	now                                     func() time.Time
	find                                    func(ctx context.Context) (kube.Ingest, error)
}

func auditSetupCommand(version string) *cobra.Command {
	s := &auditSetup{version: version, now: time.Now}
	s.find = s.findIngest
	return s.command()
}

func (s *auditSetup) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Write all that the API server needs to post its audit events to a running release, and the steps to put it in place",
		Long: "Write all that the API server needs to post its audit events to a running release: the audit policy, the kubeconfig of the webhook with a client\n" +
			"certificate of this cluster, and the API server's settings. The release is found through your kubeconfig, and the certificate is signed by the CA\n" +
			"that Reroll keeps in a Secret. Nothing is written to the cluster. The steps that are left are printed, numbered.\n" +
			"Where the API server takes no flags, as in EKS, GKE and AKS, the steps say what there is instead.",
		Example: "  reroll audit setup --for kubeadm\n  reroll audit setup --for k3s -n reroll --release reroll --policy /etc/rancher/k3s/audit-policy.yaml\n" +
			"  reroll audit setup --for talos --ca-cert ca.crt --ca-key ca.key --out audit-east --force",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	bindDistribution(cmd, &s.distribution)
	_ = cmd.MarkFlagRequired("for")
	f := cmd.Flags()
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file; in a cluster, that cluster is the default")
	f.StringVar(&s.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&s.namespace, "namespace", "n", "reroll", "Reroll's own namespace")
	f.StringVar(&s.release, "release", "", "name of the release, if there are several in the namespace")
	f.StringVar(&s.out, "out", auditFolder, "folder for the files")
	f.BoolVar(&s.force, "force", false, "overwrite files that are there already")
	f.StringVar(&s.policy, "policy", "", "file of the audit policy that the API server has already; ours is put in front of its rules")
	f.StringVar(&s.cluster, "cluster", "", "name of the cluster; default: the one that the release has")
	f.StringVar(&s.server, "server", "", "address of the ingest, https://HOST:PORT, as the API server reaches it; default: that of its Service")
	f.DurationVar(&s.lifetime, "duration", 365*24*time.Hour, "how long the client certificate is valid")
	f.StringVar(&s.caCert, "ca-cert", "", "file of the CA of the ingest, if the release has a certificate of yours")
	f.StringVar(&s.caKey, "ca-key", "", "file of the key of --ca-cert, which signs the client certificate")
	f.StringVar(&s.token, "token-file", "", "file of a token from the ingest's --ingest-token-file, instead of a client certificate")
	cmd.MarkFlagsMutuallyExclusive("ca-key", "token-file")
	return cmd
}

// findIngest looks for the release in the cluster of the kubeconfig.
func (s *auditSetup) findIngest(ctx context.Context) (kube.Ingest, error) {
	cluster, err := kube.Connect(ctx, kube.Options{
		Kubeconfig: s.kubeconfig, Context: s.context, Namespace: s.namespace, QPS: 20, Burst: 40, UserAgent: "reroll/" + s.version,
		KeepAnnotation: func(string) bool { return false },
	})
	if err != nil {
		return kube.Ingest{}, err
	}
	return cluster.FindIngest(ctx, s.release)
}

func (s *auditSetup) run(cmd *cobra.Command) error {
	d, err := findDistribution(s.distribution)
	if err != nil {
		return err
	}
	if err := s.check(d); err != nil {
		return Usage(err)
	}
	made := &auditFiles{setup: s, to: d, content: distribution.Standard()}
	made.content.Namespace, made.content.Release = s.namespace, firstOf(s.release, made.content.Release)
	if d.Posts() {
		if made.from, err = s.find(cmd.Context()); err != nil {
			return s.explain(err)
		}
		if err := made.takeRelease(); err != nil {
			return err
		}
	}
	if err := made.make(); err != nil {
		return err
	}
	if err := s.write(made.files); err != nil {
		return err
	}
	printWarnings(cmd, made.warnings)
	return made.tell(cmd.OutOrStdout())
}

// check returns what is wrong with the flags.
func (s *auditSetup) check(d distribution.Distribution) error {
	switch {
	case s.lifetime < leastLifetime || s.lifetime > mostLifetime:
		return fmt.Errorf("--duration: %s is not between %s and ten years", s.lifetime, leastLifetime)
	case s.caKey != "" && s.caCert == "":
		return errors.New("--ca-key needs --ca-cert")
	case s.caCert != "" && s.caKey == "" && s.token == "":
		return errors.New("--ca-cert needs --ca-key, which signs the client certificate, or --token-file")
	case s.policy != "" && d.Dir == "" && !d.TakesPolicy:
		return fmt.Errorf("--policy: %s takes no audit policy; see %s", d.Title, d.Guide())
	case s.cluster != "" && reloader.ValidateCluster(s.cluster) != nil:
		return fmt.Errorf("--cluster: %w", reloader.ValidateCluster(s.cluster))
	case s.token != "" && d.Forwarded:
		return fmt.Errorf("--token-file: for %s a client certificate is made; see %s", d.Title, d.Guide())
	}
	return nil
}

// explain says what to do about a release that was not found.
func (s *auditSetup) explain(err error) error {
	switch {
	case errors.Is(err, kube.ErrNoRelease):
		return fmt.Errorf("%w: install the chart with source=auto or source=audit, or name the namespace with -n", err)
	case strings.Contains(err.Error(), "several releases"):
		return fmt.Errorf("%w: name one with --release", err)
	}
	return err
}

// auditFile is a file that setup writes.
type auditFile struct {
	name, what string
	content    []byte
}

// write writes all files, or says which are there already. Nobody else may read them.
func (s *auditSetup) write(files []auditFile) error {
	if err := os.MkdirAll(s.out, 0o700); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if !s.force {
		var there []string
		for _, f := range files {
			if _, err := os.Lstat(filepath.Join(s.out, f.name)); !errors.Is(err, os.ErrNotExist) {
				there = append(there, f.name)
			}
		}
		if there != nil {
			return fmt.Errorf("%s has %s already: give --force to overwrite, or another folder with --out", s.out, strings.Join(there, ", "))
		}
	}
	for _, f := range files {
		if err := replaceFile(filepath.Join(s.out, f.name), f.content); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// replaceFile writes a file that nobody else may read, whatever was there before.
func replaceFile(name string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".reroll-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// auditFiles are in the making: from a release, to an API server.
type auditFiles struct {
	setup   *auditSetup
	from    kube.Ingest
	to      distribution.Distribution
	content distribution.Content
	server  string
	// trusted are the certificates that the ingest's own is signed by, in PEM.
	trusted  []byte
	client   issued
	token    []byte
	files    []auditFile
	warnings []string
}

// takeRelease takes over what the release says, and how the API server proves whose events it posts.
func (a *auditFiles) takeRelease() error {
	s := a.setup
	a.content.Release, a.content.Namespace = a.from.Release, a.from.Namespace
	a.content.Ingest = net.JoinHostPort(a.host(), strconv.Itoa(int(a.from.Port)))
	a.content.Cluster = firstOf(s.cluster, a.from.Cluster)
	if a.content.Cluster == "" {
		return Usage(errors.New("the pods of the release do not say the cluster's name: give it with --cluster, as in --cluster-name of its dispatcher"))
	}
	if err := reloader.ValidateCluster(a.content.Cluster); err != nil {
		return fmt.Errorf("the name of the cluster: %w", err)
	}
	if s.cluster != "" && a.from.Cluster != "" && s.cluster != a.from.Cluster {
		a.warnings = append(a.warnings, fmt.Sprintf("the release calls its cluster %s, and not %s: events of %[2]s are not for its dispatcher", a.from.Cluster, s.cluster))
	}
	if err := a.chooseServer(); err != nil {
		return err
	}
	return a.prove()
}

// host is the name of the ingest's Service, which its certificate has.
func (a *auditFiles) host() string { return a.from.Service + "." + a.from.Namespace + ".svc" }

// chooseServer finds an address of the ingest that the API server reaches: it does not resolve names of Services.
func (a *auditFiles) chooseServer() error {
	address := func(host string, port int32) string {
		return "https://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	switch {
	case a.setup.server != "" || a.to.Dir == "":
		a.server = a.setup.server
	case a.from.Type == corev1.ServiceTypeLoadBalancer && len(a.from.Balancers) == 0:
		return fmt.Errorf("the load balancer of Service %s/%s has no address yet: wait for it, or give --server", a.from.Namespace, a.from.Service)
	case a.from.Type == corev1.ServiceTypeLoadBalancer:
		a.server = address(a.from.Balancers[0], a.from.Port)
	case a.to.Name == "k0s":
		if a.from.Type != corev1.ServiceTypeNodePort {
			return errors.New("a controller of k0s reaches no ClusterIP: set ingest.service.type=NodePort in the chart's values, and give --server https://WORKER:PORT")
		}
		return fmt.Errorf("a controller of k0s reaches the NodePort of a worker: give --server https://WORKER:%d", a.from.NodePort)
	case a.from.Type == corev1.ServiceTypeNodePort:
		a.server = address("127.0.0.1", a.from.NodePort)
		a.warnings = append(a.warnings, "the NodePort is reached by way of 127.0.0.1, which kube-proxy in mode nftables does not serve: give --server with the address of a node there")
	case a.from.ClusterIP == "":
		return fmt.Errorf("the Service %s/%s has no address yet: wait for it, or give --server", a.from.Namespace, a.from.Service)
	default:
		a.server = address(a.from.ClusterIP, a.from.Port)
	}
	return nil
}

// prove makes or finds what proves to the ingest whose events they are, and what proves to the API server that it is the ingest.
func (a *auditFiles) prove() error {
	s, now := a.setup, a.setup.now()
	switch {
	case s.token != "":
		return a.useToken()
	case s.caCert != "":
		certificates, err := readFile(s.caCert)
		if err != nil {
			return fmt.Errorf("--ca-cert: %w", err)
		}
		key, err := readFile(s.caKey)
		if err != nil {
			return fmt.Errorf("--ca-key: %w", err)
		}
		return a.issue(certificates, key, "--ca-cert, --ca-key", now)
	case a.from.CA.Data != nil:
		return a.issue(a.from.CA.Data[certKey], a.from.CA.Data[keyKey], "Secret "+a.from.Namespace+"/"+a.from.CA.Secret, now)
	case a.from.Client.Data != nil:
		return a.useIssued(now)
	}
	return fmt.Errorf("there is no Secret %s/%s: the release has a certificate of yours. Either give the CA that has signed it, with --ca-cert FILE --ca-key FILE, "+
		"or a token of its --ingest-token-file (ingest.tokens.existingSecret in the chart's values) with --token-file FILE", a.from.Namespace, a.from.CA.Secret)
}

// issue makes the client certificate by a CA.
func (a *auditFiles) issue(certificates, key []byte, origin string, now time.Time) error {
	ca, err := parseAuthority(certificates, key, now)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if a.client, err = ca.issueClient(a.content.Cluster, a.setup.lifetime, now); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if a.client.until.Before(now.Add(a.setup.lifetime)) {
		a.warnings = append(a.warnings, "the client certificate ends with the CA, on "+exactly(a.client.until))
	}
	a.trusted = ca.trusted
	return nil
}

// useIssued takes the certificate that cert-manager has made.
func (a *auditFiles) useIssued(now time.Time) error {
	data, origin := a.from.Client.Data, "Secret "+a.from.Namespace+"/"+a.from.Client.Secret
	client, err := certificate.ParsePEM(data[certKey], maxAuthorities)
	if err == nil {
		_, err = parseKey(data[keyKey])
	}
	if err == nil {
		a.trusted = data[caKey]
		_, err = certificate.ParsePEM(a.trusted, maxAuthorities)
	}
	if err != nil {
		return fmt.Errorf("%s, with %s, %s and %s: %w", origin, certKey, keyKey, caKey, err)
	}
	if names := append(slices.Clone(client[0].DNSNames), client[0].Subject.CommonName); !slices.Contains(names, a.content.Cluster+auditDomain) {
		return fmt.Errorf("%s: the certificate is not for %s%s", origin, a.content.Cluster, auditDomain)
	}
	if now.After(client[0].NotAfter) {
		return fmt.Errorf("%s: the certificate has expired on %s", origin, exactly(client[0].NotAfter))
	}
	a.client = issued{data[certKey], data[keyKey], client[0].NotAfter}
	return nil
}

// useToken takes a token, and the CA that was given or that the release says.
func (a *auditFiles) useToken() error {
	token, err := readFile(a.setup.token)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	if a.token = []byte(strings.TrimSpace(string(token))); len(a.token) == 0 || strings.ContainsAny(string(a.token), " \n:") {
		return fmt.Errorf("--token-file: %s is not a token alone: it is what follows the colon in the line of the cluster", a.setup.token)
	}
	switch {
	case a.setup.caCert != "":
		if a.trusted, err = readFile(a.setup.caCert); err != nil {
			return fmt.Errorf("--ca-cert: %w", err)
		}
	case a.from.CA.Data != nil:
		a.trusted = a.from.CA.Data[certKey]
	default:
		a.trusted = a.from.Serving.Data[caKey]
	}
	if _, err := certificate.ParsePEM(a.trusted, maxAuthorities); err != nil {
		return fmt.Errorf("the CA of the ingest: %w: give it with --ca-cert FILE", err)
	}
	return nil
}

// make makes all files.
func (a *auditFiles) make() error {
	d := a.to
	if d.Dir != "" || d.TakesPolicy {
		if err := a.makePolicy(); err != nil {
			return err
		}
	}
	if d.Dir != "" {
		if err := a.makeKubeconfig(); err != nil {
			return err
		}
	}
	if d.ShowsCertificate() {
		a.add(distribution.CAFile, "the CA of the ingest's certificate", a.trusted)
		if a.token != nil {
			a.add(distribution.TokenFile, "the token of this cluster; keep it secret", a.token)
		} else {
			a.add(distribution.CertFile, "the client certificate of this cluster", a.client.certificate)
			a.add(distribution.KeyFile, "its key; keep it secret", a.client.key)
		}
	}
	settings, err := d.WriteSettings(a.content)
	if err != nil {
		return err
	}
	what := "what makes " + d.Title + " use them"
	if !d.Posts() {
		what = "values of Reroll's chart"
	}
	if d.Inline {
		what += ", with their content; keep it secret"
	}
	a.add(d.SettingsFile(), what, settings)
	return nil
}

func (a *auditFiles) add(name, what string, content []byte) {
	a.files = append(a.files, auditFile{name, what, content})
}

// makePolicy makes the policy, in front of the rules of another one if there is one. Reroll's own namespace is never left out: canaries are
// written there.
func (a *auditFiles) makePolicy() (err error) {
	p := auditPolicy{classes: true, merge: a.setup.policy, quietWasChosen: func() bool { return false }}
	p.quiet = slices.DeleteFunc(slices.Clone(systemNamespaces), func(name string) bool { return name == a.content.Namespace })
	text := p.whole()
	if p.merge != "" {
		var lowered []string
		if text, lowered, err = p.mergeFile(); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		a.warnings = append(a.warnings, lowered...)
	}
	header, err := a.to.PolicyHeader()
	if err != nil {
		return err
	}
	a.content.Policy = header + text
	var found findings
	found.checkPolicy([]byte(text), a.content.Namespace)
	for _, one := range found {
		if one.Verdict != fine {
			a.warnings = append(a.warnings, one.Check+": "+one.Message)
		}
	}
	a.add(distribution.PolicyFile, "what the API server reports", []byte(a.content.Policy))
	return nil
}

// makeKubeconfig makes the kubeconfig of the webhook, with its files or their content.
func (a *auditFiles) makeKubeconfig() error {
	d := a.to
	place := func(file string) string {
		if d.Embed {
			return file
		}
		return d.Path(file)
	}
	k := auditKubeconfig{
		server: a.server, cluster: a.content.Cluster, serverName: a.host(), embed: d.Embed, ca: place(distribution.CAFile),
		read: func(file string) ([]byte, error) {
			return map[string][]byte{
				distribution.CAFile: a.trusted, distribution.CertFile: a.client.certificate, distribution.KeyFile: a.client.key, distribution.TokenFile: a.token,
			}[file], nil
		},
	}
	if a.token != nil {
		k.token = place(distribution.TokenFile)
	} else {
		k.cert, k.key = place(distribution.CertFile), place(distribution.KeyFile)
	}
	header, err := d.KubeconfigHeader()
	if err != nil {
		return err
	}
	content, err := k.render()
	if err != nil {
		return err
	}
	a.content.Kubeconfig = header + string(content)
	what := "where it posts that"
	if d.Embed {
		what += ", with a private key; keep it secret"
		if a.token != nil {
			what = "where it posts that, with a token; keep it secret"
		}
	}
	a.add(distribution.KubeconfigFile, what, []byte(a.content.Kubeconfig))
	return nil
}

// stepNumber begins a step.
var stepNumber = regexp.MustCompile(`(?m)^[0-9]+\. `)

// tell says what was written and what is left to do.
func (a *auditFiles) tell(w io.Writer) error {
	steps, err := a.to.WriteSteps(a.content)
	if err != nil {
		return err
	}
	if a.token != nil {
		steps = []byte(strings.NewReplacer("client.crt client.key", "token", "--from-file=client.crt --from-file=client.key", "--from-file=token").Replace(string(steps)))
	}
	var b strings.Builder
	if a.to.Posts() {
		fmt.Fprintf(&b, "Release %s in namespace %s takes the audit events of cluster %s", a.content.Release, a.content.Namespace, a.content.Cluster)
		if a.server != "" {
			fmt.Fprintf(&b, " at %s", a.server)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "Written to %s:\n", a.setup.out)
	for _, f := range a.files {
		fmt.Fprintf(&b, "  %-19s %s\n", f.name, f.what)
	}
	if a.to.Posts() && a.token == nil {
		fmt.Fprintf(&b, "The client certificate is valid until %s. Run this again before that, with --force, and put the files in place again.\n", exactly(a.client.until))
	}
	if a.setup.server == "" && a.to.Dir != "" && a.from.Type == corev1.ServiceTypeClusterIP {
		fmt.Fprintf(&b, "Keep the address: set ingest.service.clusterIP=%s in the chart's values, so that a new installation has it too.\n", a.from.ClusterIP)
	}
	fmt.Fprintf(&b, "\nNext, in that folder (%s says more):\n\n%s", a.to.Guide(), steps)
	if a.to.Posts() {
		fmt.Fprintf(&b, "%d. Prove that the events come in:\n   %s\n", len(stepNumber.FindAll(steps, -1))+1, a.checkCommand())
	}
	_, err = io.WriteString(w, printableLines(b.String()))
	return err
}

// checkCommand is how to check what was set up.
func (a *auditFiles) checkCommand() string {
	words := "reroll audit check --files ."
	kubeconfig := a.setup.kubeconfig
	if absolute, err := filepath.Abs(kubeconfig); err == nil && kubeconfig != "" {
		kubeconfig = absolute // the step is done in another folder
	}
	for _, flag := range []struct{ name, value, standard string }{
		{"--kubeconfig", kubeconfig, ""}, {"--context", a.setup.context, ""}, {"-n", a.content.Namespace, "reroll"}, {"--cluster", a.content.Cluster, "local"},
	} {
		if flag.value != flag.standard {
			words += " " + flag.name + " " + flag.value
		}
	}
	return words
}

// printableLines is printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}
