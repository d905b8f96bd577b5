package cli

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
)

// uiCommand tells where the dashboard is.
func uiCommand(version string) *cobra.Command {
	q := &question{version: version}
	var open bool
	cmd := &cobra.Command{
		Use:     "ui",
		Short:   "Print the address of the dashboard, and open it in a browser if asked to",
		Long:    "Print the address of the dashboard, and open it in a browser if asked to. Through a cluster, it forwards a port until it is interrupted.",
		Example: "  reroll ui --open\n  reroll ui --context east",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := q.open(cmd)
			if err != nil {
				return err
			}
			v, err := s.self()
			if err != nil {
				return err
			}
			address := s.base.String() + "/"
			body, err := json.Marshal(map[string]string{"address": address, "version": v.Version})
			if err != nil {
				return err
			}
			if err := printOne(s, &q.output, body, address, func(l *lines) { l.add(text(address)) }); err != nil {
				return err
			}
			if open {
				name, args := browser(runtime.GOOS, address)
				if err := exec.CommandContext(s, name, args...).Run(); err != nil {
					return fmt.Errorf("open a browser with %s: %w", name, err)
				}
			}
			if q.end != nil {
				<-s.Done() // the address is good for as long as it is forwarded
			}
			return nil
		},
	}
	q.bindPlain(cmd, formatJSON, formatYAML, formatName, formatPath)
	cmd.Flags().BoolVar(&open, "open", false, "open it in a browser")
	return cmd
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
