package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// readyTime is how long one process may take to answer, and readyPause how long is waited before it is asked again.
	readyTime  = 5 * time.Second
	readyPause = time.Second
	// maxReadiness bounds the answer of a process, in bytes.
	maxReadiness = 64 << 10
)

// Probes returns the commands that ask processes how they are, where no other program can: the image holds this one alone.
func Probes() []*cobra.Command { return []*cobra.Command{readyCommand()} }

func readyCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "ready [URL]...",
		Short: "Ask processes whether they are ready, for health checks and tests",
		Long: "Ask processes whether they are ready, for health checks of containers and for helm test. Each URL is the address for metrics and health of a\n" +
			"process, --metrics-address there; behind a name with several addresses, each is asked. It ends with code 0 if all are ready, and with 1 if one is not; what is missing is on standard error.",
		Example: "  reroll ready\n  reroll ready --wait 2m http://reroll-ingest-metrics:9090 http://reroll-dispatch-metrics:9090",
		RunE: func(cmd *cobra.Command, addresses []string) error {
			if len(addresses) == 0 {
				addresses = []string{"http://127.0.0.1:9090"}
			}
			return askReady(cmd.Context(), cmd.OutOrStdout(), addresses, wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to ask again until all are ready; 0 is to ask once")
	return cmd
}

// askReady returns nil once every process has been ready, and otherwise what is missing in the end.
func askReady(ctx context.Context, w io.Writer, addresses []string, wait time.Duration) error {
	for _, address := range addresses {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return Usage(fmt.Errorf("%s is not the URL of a process, such as http://127.0.0.1:9090", quote(address)))
		}
	}
	end := time.Now().Add(wait)
	for {
		var errs []error
		for _, address := range addresses {
			errs = append(errs, allReady(ctx, address, net.DefaultResolver.LookupHost))
		}
		err := errors.Join(errs...)
		if err == nil {
			_, err := fmt.Fprintln(w, "ready")
			return err
		}
		if !time.Now().Add(readyPause).Before(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(readyPause):
		}
	}
}

// allReady returns nil if the processes behind the name of a URL are ready: all of its addresses, as a headless Service has them.
func allReady(ctx context.Context, address string, lookup func(ctx context.Context, host string) ([]string, error)) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	host := u.Hostname()
	if u.Scheme == "https" || host == "localhost" || net.ParseIP(host) != nil {
		return readyAt(ctx, address)
	}
	limited, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	found, err := lookup(limited, host)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	var errs []error
	for _, one := range found {
		u.Host = net.JoinHostPort(one, cmp.Or(u.Port(), "80"))
		errs = append(errs, readyAt(ctx, u.String()))
	}
	return errors.Join(errs...)
}

// readyAt returns nil if the process at an address is ready, and otherwise its failed checks.
func readyAt(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/readyz")+"/readyz", nil)
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
