package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
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

// globalHelp explains the global flags on the first page.
const globalHelp = `Most commands take:
      --kubeconfig FILE, --context NAME        which cluster (default: as kubectl)
  -n, --namespace NAME, -A                     where workloads and configs are; -A: all namespaces
      --cluster NAME, --reroll-namespace NAME  if Reroll knows several; if it is not in reroll
  -o, --output FORMAT                          wide, json, yaml, name, jsonpath=TEMPLATE
      --server URL                             Reroll's API ($REROLL_SERVER; default: port-forward)
`

const helpWidth = 100

// writeHelp writes the help of a command: on one screen, as far as its flags are few.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	var b strings.Builder
	fmt.Fprintln(&b, wrapped(cmp.Or(cmd.Long, cmd.Short+".")))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(&b)
		for _, below := range cmd.Commands() {
			if below.IsAvailableCommand() && below.Name() != "help" {
				fmt.Fprintf(&b, "  %-11s %s\n", below.Name(), below.Short)
			}
		}
	}
	if !cmd.HasParent() {
		fmt.Fprint(&b, "\n", globalHelp)
	}
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUsage: %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n%s\n", cmd.Example)
	}
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Hidden = true
	}
	if own := cmd.LocalNonPersistentFlags(); own.HasAvailableFlags() && cmd.HasParent() {
		fmt.Fprintf(&b, "\n%s", own.FlagUsagesWrapped(helpWidth))
	}
	if taken := takenFlags(cmd); taken != "" {
		fmt.Fprintf(&b, "\nAlso (reroll --help): %s\n", taken)
	}
	_, _ = io.WriteString(w, b.String()) // an error cannot be reported
}

// wrapped breaks the lines of a text that are too wide. Lines that begin with a space stay as they are.
func wrapped(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > helpWidth && line[0] != ' ' {
			at := strings.LastIndexByte(line[:helpWidth+1], ' ')
			lines, line = append(lines, line[:at]), line[at+1:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func takenFlags(cmd *cobra.Command) string {
	var names []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !takes(cmd, f.Name):
		case f.Shorthand != "":
			names = append(names, "-"+f.Shorthand)
		default:
			names = append(names, "--"+f.Name)
		}
	})
	return strings.Join(names, " ")
}
