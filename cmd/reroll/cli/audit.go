package cli

import "github.com/spf13/cobra"

// auditCommand sets up what an API server needs to post its audit events to Reroll.
func auditCommand(g *globals) *cobra.Command {
	return group("audit", "Set up the audit events of the API server, and prove that they come in",
		auditSetupCommand(g), auditCheckCommand(g))
}
