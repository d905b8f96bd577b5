package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// Root returns the command line of Reroll, without the commands that run it.
func Root(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "reroll",
		Version:       version,
		Short:         "Roll Kubernetes workloads when a ConfigMap or Secret that they use changes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	g := &globals{version: version}
	g.bind(root)
	audit := &cobra.Command{Use: "audit", Short: "Set up the audit events of the API server, and prove that they come in"}
	audit.AddCommand(auditSetupCommand(g), auditCheckCommand(g))
	root.AddCommand(
		statusCommand(g), getCommand(g), explainCommand(g), impactCommand(g), reloadCommand(g), retryCommand(g), pauseCommand(g), resumeCommand(g),
		checkCommand(g), migrateCommand(g), dashboardCommand(g), versionCommand(version),
		audit,
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !takes(cmd, f.Name) })
		help(cmd, args)
	})
	return root
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  reroll version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}

// globals are the flags that have one meaning on every command.
type globals struct {
	kubeconfig, context, namespace, cluster string
	everywhere                              bool
	format, server, own                     string
	version                                 string
}

// Sets of global flags that a command may take.
const (
	takesCluster = "kubeconfig,context"
	takesAsk     = takesCluster + ",server,reroll-namespace,cluster,output"
	takesScope   = "namespace,all-namespaces"
)

func (g *globals) bind(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the one that kubectl uses)")
	f.StringVar(&g.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&g.namespace, "namespace", "n", "", "namespace of workloads and configs")
	f.BoolVarP(&g.everywhere, "all-namespaces", "A", false, "all namespaces")
	f.StringVar(&g.cluster, "cluster", "", "cluster, if Reroll knows several")
	f.StringVarP(&g.format, "output", "o", "", "format: "+strings.Join(formats, ", "))
	f.StringVar(&g.server, "server", "", "address of Reroll's API, also $"+serverVariable+" (default: a port-forward through the kubeconfig's context)")
	f.StringVar(&g.own, "reroll-namespace", cmp.Or(kube.PodNamespace(), "reroll"), "namespace that Reroll runs in")
	root.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("cluster", g.complete(clusterNames, 0))
	_ = root.RegisterFlagCompletionFunc("namespace", g.complete(namespaceNames, 0))
}

// takesKey is the annotation of a command that lists its global flags.
const takesKey = "global-flags"

// take declares which global flags cmd takes. It refuses the others.
func take(cmd *cobra.Command, sets ...string) *cobra.Command {
	cmd.Annotations = map[string]string{takesKey: strings.Join(sets, ",")}
	return cmd
}

func takes(cmd *cobra.Command, flag string) bool {
	return slices.Contains(strings.Split(cmd.Annotations[takesKey], ","), flag)
}

// foreignFlag returns the error of a global flag that cmd does not take.
func foreignFlag(cmd *cobra.Command) (err error) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !takes(cmd, f.Name) {
			err = usagef("unknown flag: --%s; %s does not take it", f.Name, cmd.CommandPath())
		}
	})
	return err
}

// typed returns a command as the user has to type it: with those of the flags that were given that say where it acts.
func (g *globals) typed(cmd *cobra.Command, next string) string {
	words := strings.Fields(next)
	if len(words) == 0 {
		return ""
	}
	takesIt := func(string) bool { return true }
	given := []string{"kubeconfig", "context"}
	if words[0] == "reroll" {
		named, _, err := cmd.Root().Find(words[1:])
		if err != nil {
			return next
		}
		given = append(given, "reroll-namespace", "server")
		takesIt = func(flag string) bool { return takes(named, flag) }
	} else if words[0] != "kubectl" {
		return next
	}
	for _, name := range given {
		f := cmd.Flags().Lookup(name)
		if f != nil && f.Changed && takesIt(name) && !slices.Contains(words, "--"+name) {
			next += " --" + name + " " + quoted(f.Value.String())
		}
	}
	return next
}

func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=+,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// The codes that a process ends with.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// ExitCodes says what each code means, by code.
var ExitCodes = []string{
	ExitDone:   "success, and nothing is wrong",
	ExitFailed: "failure; or `check`, `migrate` or `audit check` found something wrong; or, with `--exit-code`, something needs attention (`status`, `explain`) or would roll (`impact`)",
	ExitUsage:  "invalid command line",
}

// coded is an error with the code that the process ends with.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// errAnswer ends a command whose answer, which it has printed, is no.
var errAnswer = coded{errors.New("the answer is no"), ExitFailed}

// Usage marks err as a mistake of the command line.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return coded{err, ExitUsage}
}

func usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// ExitCode returns the code that a process ends with after err, and whether to print err.
func ExitCode(err error) (code int, tell bool) {
	var c coded
	switch {
	case err == nil:
		return ExitDone, false
	case errors.As(err, &c):
		return c.code, c != errAnswer
	}
	return ExitFailed, true
}

// Say returns err in one line for a terminal.
func Say(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}

// CheckUsage gives all mistakes of the command line below root the code ExitUsage.
func CheckUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	for _, cmd := range root.Commands() {
		CheckUsage(cmd)
	}
	if root.HasSubCommands() && !root.Runnable() {
		root.Args, root.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		root.DisableFlagsInUseLine = true
	}
	root.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return Usage(cmp.Or(foreignFlag(cmd), cmd.ValidateFlagGroups(), checkFormat(cmd)))
	}
	if check := root.Args; check != nil {
		root.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w: use %s", err, cmd.UseLine())
			}
			return nil
		}
	}
}
