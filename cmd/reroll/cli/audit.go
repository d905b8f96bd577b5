package cli

import "github.com/spf13/cobra"

// auditCommand makes what an API server needs to post its audit events to Reroll.
func auditCommand() *cobra.Command {
	return group("audit", "Set up the audit events of the API server", auditPolicyCommand(), auditKubeconfigCommand(), auditSettingsCommand())
}
