package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// readyTime is how long a process may take to answer.
	readyTime = 5 * time.Second
	// maxReadiness bounds the answer of a process, in bytes.
	maxReadiness = 64 << 10
)

// Probes returns the commands that ask a process how it is, where no other program can: the image holds this one alone.
func Probes() []*cobra.Command {
	return []*cobra.Command{{
		Use:     "ready [URL]",
		Short:   "Ask a process whether it is ready, for the health check of a container",
		Long:    "Ask a process whether it is ready, for the health check of a container. URL is its --metrics-address. It ends with code 0 if the process is ready,\nand otherwise with 1 and what is missing on standard error.",
		Example: "  reroll ready\n  reroll ready http://127.0.0.1:9091",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := "http://127.0.0.1:9090"
			if len(args) > 0 {
				address = args[0]
			}
			if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return Usage(fmt.Errorf("%s is not the URL of a process, such as http://127.0.0.1:9090", quote(address)))
			}
			return askReady(cmd.Context(), address)
		},
	}}
}

// askReady returns nil if the process at an address is ready, and otherwise its failed checks.
func askReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReadiness))
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	var failed []string
	for line := range strings.Lines(string(body)) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			failed = append(failed, printable(strings.TrimSpace(check)))
		}
	}
	return fmt.Errorf("%s is not ready (%s): %s", address, response.Status, strings.Join(failed, "; "))
}
