package cli

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

func dashboardCommand(g *globals) *cobra.Command {
	open := true
	cmd := take(&cobra.Command{
		Use:     "dashboard",
		Short:   "Open the dashboard in a browser",
		Long:    "Print the address of the dashboard and open it in a browser. Through a cluster, a port-forward lasts\nuntil you interrupt it.",
		Example: "  reroll dashboard\n  reroll dashboard --context east --browser=false",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.asking(cmd, func(s *session) error { return s.dashboard(open) })
		},
	}, takesCluster, "server,reroll-namespace")
	cmd.Flags().BoolVar(&open, "browser", true, "open a browser")
	return cmd
}

func (s *session) dashboard(open bool) error {
	if _, err := s.read(s, path("self"), nil, &view.Self{}); err != nil {
		return err
	}
	address := s.base.String() + "/"
	if _, err := fmt.Fprintln(s.cmd.OutOrStdout(), address); err != nil {
		return err
	}
	if open {
		name, args := browser(runtime.GOOS, address)
		if err := exec.CommandContext(s, name, args...).Run(); err != nil {
			warn(s.cmd, []string{fmt.Sprintf("no browser was opened: %s: %v", name, err)})
		}
	}
	if s.forwarded {
		<-s.Done()
	}
	return nil
}

// browser returns the command that opens an address where the program runs.
func browser(system, address string) (name string, args []string) {
	switch system {
	case "darwin":
		return "open", []string{address}
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	return "xdg-open", []string{address}
}
