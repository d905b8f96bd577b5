package line

import (
	"context"
	"os/exec"
	"strings"
)

// Commit returns the commit of the sources around the working directory: 12 hexadecimal digits, with "-dirty" behind them if files of it
// were edited since, or "unknown" where git does not tell. A report that names it can be made again.
func Commit(ctx context.Context) string {
	output, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(output))
}
