package nats

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/port"
)

// TestIngestWaitsForItsCertificate: a process that cannot ask Kubernetes for its certificate starts before another one has made it, says what it
// waits for, and takes events as soon as the files are there.
func TestIngestWaitsForItsCertificate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lineTime)
	defer cancel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	flags, client := auditCertificates(t)
	certificate := flags[1]
	check(os.Rename(certificate, certificate+".made"))
	binary, err := line.Build(ctx)
	check(err)
	free, err := port.Addresses(2)
	check(err)
	cmd := exec.Command(binary, append(flags, "ingest", "--nats-url", natsserver.Start(t).ClientURL(), "--ingest-address", free[0], "--metrics-address", free[1])...)
	cmd.SysProcAttr, cmd.Stderr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, os.Stderr
	check(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	ops := &line.Reroll{Ops: "http://" + free[1]}
	check(line.Poll(ctx, func(ctx context.Context) error {
		code, answer, err := ops.Probe(ctx, "/readyz?verbose")
		if err == nil && (code != http.StatusServiceUnavailable || !strings.Contains(answer, "no such file")) {
			err = fmt.Errorf("%d: %s", code, answer)
		}
		return err
	}))
	check(os.Rename(certificate+".made", certificate))
	check(postUntilAccepted(ctx, client, "https://"+free[0], 1))
	check(line.Poll(ctx, func(ctx context.Context) error {
		code, answer, err := ops.Probe(ctx, "/readyz?verbose")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, answer)
		}
		return err
	}))
}
