package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

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
	*globals
	distribution, release      string
	out, print, policy, server string
	caCert, caKey, token       string
	lifetime                   time.Duration
	force                      bool
	now                        func() time.Time
	find                       func(ctx context.Context) (kube.Ingest, error)
}

func auditSetupCommand(g *globals) *cobra.Command {
	s := &auditSetup{globals: g, now: time.Now}
	s.find = s.findIngest
	return s.command()
}

func (s *auditSetup) command() *cobra.Command {
	cmd := take(&cobra.Command{
		Use:   "setup",
		Short: "Write the files and steps by which an API server posts its audit events to Reroll",
		Long: "Write the audit policy, the webhook's kubeconfig with a client certificate, and the settings of the API server, for a release in the " +
			"cluster, and print the steps that are left. Nothing is written to the cluster. KIND is one of " + strings.Join(distribution.Names()[:8], ", ") + ",\n" +
			strings.Join(distribution.Names()[8:], ", ") + ".",
		Example: "  reroll audit setup --for kubeadm\n  reroll audit setup --for k3s --policy /etc/rancher/k3s/audit-policy.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}, takesCluster, "reroll-namespace,cluster")
	f := cmd.Flags()
	f.StringVar(&s.distribution, "for", "", "`KIND` of the cluster")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(distribution.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagRequired("for")
	f.StringVar(&s.policy, "policy", "", "audit policy of the API server; Reroll's rules are added to it")
	f.StringVar(&s.print, "print", "", "print one file, and write none: policy, kubeconfig or settings")
	_ = cmd.RegisterFlagCompletionFunc("print", cobra.FixedCompletions([]string{"policy", "kubeconfig", "settings"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&s.out, "out", auditFolder, "folder for the files")
	f.BoolVar(&s.force, "force", false, "overwrite files")
	f.StringVar(&s.release, "release", "", "Helm release, if the namespace has several")
	f.StringVar(&s.server, "address", "", "address of ingest for the API server (default: of its Service)")
	f.DurationVar(&s.lifetime, "duration", 365*24*time.Hour, "lifetime of the client certificate")
	f.StringVar(&s.caCert, "ca-cert", "", "CA of ingest's certificate, if it is yours")
	f.StringVar(&s.caKey, "ca-key", "", "key of --ca-cert, which signs the client certificate")
	f.StringVar(&s.token, "token-file", "", "token of ingest, instead of a client certificate")
	cmd.MarkFlagsMutuallyExclusive("ca-key", "token-file")
	return cmd
}

// findIngest looks for the release in the cluster of the kubeconfig.
func (s *auditSetup) findIngest(ctx context.Context) (kube.Ingest, error) {
	cluster, err := s.connect(ctx, nil)
	if err != nil {
		return kube.Ingest{}, err
	}
	return cluster.FindIngest(ctx, s.release)
}

func (s *auditSetup) run(cmd *cobra.Command) error {
	d, err := distribution.Find(s.distribution)
	if err != nil {
		return Usage(fmt.Errorf("--for: %w", err))
	}
	if err := s.check(d); err != nil {
		return Usage(err)
	}
	made := &auditFiles{setup: s, to: d, content: distribution.Standard()}
	made.content.Namespace, made.content.Release = s.own, firstOf(s.release, made.content.Release)
	if d.Posts() && s.print != "policy" {
		if made.from, err = s.find(cmd.Context()); err != nil {
			return s.explain(err)
		}
		if err := made.takeRelease(); err != nil {
			return err
		}
	}
	if s.print != "" {
		return made.show(cmd)
	}
	if err := made.make(); err != nil {
		return err
	}
	if err := s.write(made.files); err != nil {
		return err
	}
	warn(cmd, made.warnings)
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
	case s.print != "" && s.print != "policy" && s.print != "kubeconfig" && s.print != "settings":
		return fmt.Errorf("--print: %q is none of policy, kubeconfig, settings", s.print)
	case s.print == "policy" && d.Dir == "" && !d.TakesPolicy:
		return fmt.Errorf("--print: %s does not let you choose the audit policy: use %s; see %s", d.Title, d.Instead, d.Guide())
	case s.print == "kubeconfig" && d.Dir == "":
		return fmt.Errorf("--print: %s gives its API server no kubeconfig: use %s; see %s", d.Title, d.Instead, d.Guide())
	case s.token != "" && d.Forwarded:
		return fmt.Errorf("--token-file: for %s a client certificate is made; see %s", d.Title, d.Guide())
	}
	return nil
}

// explain says what to do about a release that was not found.
func (s *auditSetup) explain(err error) error {
	switch {
	case errors.Is(err, kube.ErrNoRelease):
		return fmt.Errorf("%w: install the chart with source=auto or source=audit, or name the namespace with --reroll-namespace", err)
	case strings.Contains(err.Error(), "several releases"):
		return fmt.Errorf("%w: name one with --release", err)
	}
	return err
}

// show prints one file.
func (a *auditFiles) show(cmd *cobra.Command) error {
	what, make := a.setup.print, a.make
	if what == "policy" {
		make = a.makePolicy
	}
	if err := make(); err != nil {
		return err
	}
	warn(cmd, a.warnings)
	name := map[string]string{"policy": distribution.PolicyFile, "kubeconfig": distribution.KubeconfigFile, "settings": a.to.SettingsFile()}[what]
	i := slices.IndexFunc(a.files, func(f auditFile) bool { return f.name == name })
	_, err := cmd.OutOrStdout().Write(a.files[i].content)
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
	words := "reroll audit check"
	kubeconfig := a.setup.kubeconfig
	if absolute, err := filepath.Abs(kubeconfig); err == nil && kubeconfig != "" {
		kubeconfig = absolute // the step is done in another folder
	}
	for _, flag := range []struct{ name, value, standard string }{
		{"--kubeconfig", kubeconfig, ""}, {"--context", a.setup.context, ""}, {"--reroll-namespace", a.content.Namespace, "reroll"}, {"--cluster", a.content.Cluster, "local"},
	} {
		if flag.value != flag.standard {
			words += " " + flag.name + " " + flag.value
		}
	}
	return words
}
