package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader/kube"
)

const (
	// auditFolder is where setup writes without --out.
	auditFolder = "reroll-audit"
	// auditDomain follows the name of a cluster in the name of its client certificate, which is valid for clientLifetime.
	auditDomain    = ".audit.reroll.dev"
	clientLifetime = 365 * 24 * time.Hour
)

// auditSetup makes files for an API server from a release.
type auditSetup struct {
	*globals
	distribution, out, print, policy, server string
	force                                    bool
	now                                      func() time.Time
	find                                     func(context.Context) (kube.Ingest, error)

	from     kube.Ingest
	to       distribution.Distribution
	content  distribution.Content
	client   certificate.Client
	files    map[string][]byte
	warnings []string
}

func auditSetupCommand(g *globals) *cobra.Command {
	s := &auditSetup{globals: g, now: time.Now}
	s.find = func(ctx context.Context) (kube.Ingest, error) {
		cluster, err := s.connect(ctx, nil, kube.Scope{})
		if err != nil {
			return kube.Ingest{}, err
		}
		return cluster.FindIngest(ctx)
	}
	return s.command()
}

func (s *auditSetup) command() *cobra.Command {
	printed := []string{"policy", "kubeconfig", "settings"}
	cmd := take(&cobra.Command{
		Use:   "setup",
		Short: "Write the files and steps for an API server to post its audit events to Reroll",
		Long: "Write the audit policy, the webhook's kubeconfig with a client certificate, and the settings of the\nAPI server, for a release in the " +
			"cluster, and print the steps that are left. Nothing is written to\nthe cluster. KIND is one of " + strings.Join(distribution.Names()[:8], ", ") + ",\n" +
			strings.Join(distribution.Names()[8:], ", ") + ".",
		Example: "  reroll audit setup --for kubeadm\n  reroll audit setup --for k3s --policy /etc/rancher/k3s/audit-policy.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.print != "" && !slices.Contains(printed, s.print) {
				return usagef("--print: %q is not one of %s", s.print, strings.Join(printed, ", "))
			}
			return s.run(cmd)
		},
	}, takesCluster, "reroll-namespace,cluster")
	f := cmd.Flags()
	f.StringVar(&s.distribution, "for", "", "`KIND` of the cluster")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(distribution.Names(), cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&s.policy, "policy", "", "audit policy of the API server; Reroll's rules are added to it")
	f.StringVar(&s.print, "print", "", "print one file, and write none: "+strings.Join(printed, ", "))
	_ = cmd.RegisterFlagCompletionFunc("print", cobra.FixedCompletions(printed, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&s.out, "out", auditFolder, "folder for the files")
	f.BoolVar(&s.force, "force", false, "overwrite files")
	f.StringVar(&s.server, "address", "", "address of ingest for the API server (default: of its Service)")
	return cmd
}

func (s *auditSetup) run(cmd *cobra.Command) (err error) {
	if s.to, err = distribution.Find(s.distribution); err != nil {
		return usagef("--for: %w", err)
	}
	d := s.to
	switch {
	case (s.policy != "" || s.print == "policy") && d.Dir == "" && !d.TakesPolicy:
		return usagef("%s takes no audit policy: use %s; see %s", d.Title, d.Instead, distribution.Guide)
	case s.print == "kubeconfig" && d.Dir == "":
		return usagef("--print: %s gives its API server no kubeconfig: use %s; see %s", d.Title, d.Instead, distribution.Guide)
	}
	s.content, s.files = distribution.Standard(), map[string][]byte{}
	s.content.Namespace = s.own
	if s.print == "policy" {
		err = s.makePolicy()
	} else {
		err = s.make(cmd.Context())
	}
	if err != nil {
		return err
	}
	warn(cmd, s.warnings)
	if s.print != "" {
		name := map[string]string{"policy": distribution.PolicyFile, "kubeconfig": distribution.KubeconfigFile, "settings": d.SettingsFile()}[s.print]
		_, err := cmd.OutOrStdout().Write(s.files[name])
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	return s.tell(cmd)
}

func (s *auditSetup) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

func (s *auditSetup) make(ctx context.Context) error {
	d := s.to
	if d.Posts() {
		if err := s.takeRelease(ctx); err != nil {
			return err
		}
	}
	if d.Dir != "" || d.TakesPolicy {
		if err := s.makePolicy(); err != nil {
			return err
		}
	}
	if d.Dir != "" {
		if err := s.makeKubeconfig(); err != nil {
			return err
		}
	}
	if d.ShowsCertificate() && s.client.Key != nil {
		s.files[distribution.CAFile], s.files[distribution.CertFile], s.files[distribution.KeyFile] = s.client.CA, s.client.Certificate, s.client.Key
	}
	settings, err := d.WriteSettings(s.content)
	s.files[d.SettingsFile()] = settings
	return err
}

// write writes all files, which nobody else may read, or says which are there already.
func (s *auditSetup) write() error {
	if err := os.MkdirAll(s.out, 0o700); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var there []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if _, err := os.Lstat(filepath.Join(s.out, name)); !errors.Is(err, os.ErrNotExist) {
			there = append(there, name)
		}
	}
	if there != nil && !s.force {
		return fmt.Errorf("%s has %s already: give --force to overwrite, or another folder with --out", s.out, strings.Join(there, ", "))
	}
	for name, content := range s.files {
		name = filepath.Join(s.out, name)
		_ = os.Remove(name) // its mode would stay
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// auditFiles says what each file is, but for the settings.
var auditFiles = map[string]string{
	distribution.PolicyFile: "what the API server reports", distribution.KubeconfigFile: "where it posts that",
	distribution.CAFile: "the CA of the ingest's certificate", distribution.CertFile: "the client certificate of this cluster", distribution.KeyFile: "its key",
}

var stepNumber = regexp.MustCompile(`(?m)^[0-9]+\. `)

func (s *auditSetup) tell(cmd *cobra.Command) error {
	steps, err := s.to.WriteSteps(s.content)
	if err != nil {
		return err
	}
	var b strings.Builder
	if s.to.Posts() {
		fmt.Fprintf(&b, "Release %s in namespace %s takes the audit events of cluster %s", s.content.Release, s.content.Namespace, s.content.Cluster)
		if s.server != "" {
			fmt.Fprintf(&b, " at %s", s.server)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "Written to %s:\n", s.out)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		what := cmp.Or(auditFiles[name], "settings for "+s.to.Title)
		if name == distribution.KeyFile || bytes.Contains(s.files[name], []byte("client-key-data")) {
			what += "; keep it secret"
		}
		fmt.Fprintf(&b, "  %-19s %s\n", name, what)
	}
	if s.client.Key != nil {
		fmt.Fprintf(&b, "The client certificate is valid until %s. Run this again before that, with --force, and put the files in place again.\n", exactly(s.client.Until))
	}
	if s.from.ClusterIP != "" && strings.Contains(s.server, s.from.ClusterIP) {
		fmt.Fprintf(&b, "Keep the address: set ingest.service.clusterIP=%s in the chart's values, so that a new installation has it too.\n", s.from.ClusterIP)
	}
	fmt.Fprintf(&b, "\nNext, in that folder (%s says more):\n\n%s", distribution.Guide, steps)
	if s.to.Posts() {
		check := "reroll audit check"
		if s.content.Cluster != "local" {
			check += " --cluster " + s.content.Cluster
		}
		fmt.Fprintf(&b, "%d. Prove that the events come in:\n   %s\n", len(stepNumber.FindAll(steps, -1))+1, s.typed(cmd, check))
	}
	_, err = io.WriteString(cmd.OutOrStdout(), printableLines(b.String()))
	return err
}
