package app

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

// nameOf is what a process is called in logs, metrics and NATS: serve, or the parts that it runs.
func nameOf(s config.Config) string {
	if slices.Equal(s.Components, config.Default().Components) {
		return "serve"
	}
	return strings.Join(s.Components, "+")
}
