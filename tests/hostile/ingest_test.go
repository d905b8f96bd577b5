package hostile

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/port"
)

// target is a real ingest process with a NATS server of the test's own process behind it.
type target struct {
	t       testing.TB
	address string
	ops     *line.Reroll
	process *exec.Cmd
	tls     *tls.Config
}

// startTime bounds the start of NATS and of the process.
const startTime = time.Minute

// startIngest returns when the process is ready. It is ended with the test.
func startIngest(t testing.TB) *target {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := port.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	x, metrics := &target{t: t, address: addresses[0]}, addresses[1]
	x.ops = &line.Reroll{Ops: "http://" + metrics}
	args := append([]string{"ingest", "--nats-url", natsserver.Start(t).ClientURL(), "--ingest-address", x.address, "--metrics-address", metrics}, x.certificates()...)
	x.process = exec.Command(binary, args...)
	x.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log := &strings.Builder{}
	x.process.Stdout, x.process.Stderr = log, log
	if err := x.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.process.Process.Signal(syscall.SIGTERM)
		if err := x.process.Wait(); err != nil {
			t.Errorf("ingest ended with %v; its log:\n%s", err, log)
		}
	})
	if err := line.Poll(ctx, x.ready); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *target) ready(ctx context.Context) error {
	code, answer, err := x.ops.Probe(ctx, "/readyz?verbose")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("not ready: %s", answer)
	}
	return err
}

// certificates makes those of both sides and returns the flags of the server's.
func (x *target) certificates() []string {
	x.t.Helper()
	ca, err := kube.NewCA("audit")
	x.must(err)
	serving, err := ca.Server("reroll", "127.0.0.1")
	x.must(err)
	client, err := ca.Client("prod.audit.reroll.dev")
	x.must(err)
	pair, err := tls.X509KeyPair(client.CertPEM, client.KeyPEM)
	x.must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	x.tls = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	dir := x.t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		x.must(os.WriteFile(file, content, 0o600))
		return file
	}
	return []string{
		"--ingest-tls-cert", write("server.crt", serving.CertPEM), "--ingest-tls-key", write("server.key", serving.KeyPEM),
		"--ingest-tls-client-ca", write("ca.crt", ca.CertPEM()),
	}
}

func (x *target) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// memory returns how much memory the process has resident, in bytes, and how much at most it has had since forget.
func (x *target) memory() (now, most int64) {
	x.t.Helper()
	status, err := os.ReadFile(x.proc("status"))
	x.must(err)
	return x.field(string(status), "VmRSS:"), x.field(string(status), "VmHWM:")
}

func (x *target) field(status, name string) int64 {
	x.t.Helper()
	for text := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(text, name); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			x.must(err)
			return kb << 10
		}
	}
	x.t.Fatalf("the kernel does not tell %s", name)
	return 0
}

func (x *target) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", x.process.Process.Pid, file)
}

// metric returns the sum of the samples of one of the process's metrics.
func (x *target) metric(ctx context.Context, name string) (float64, error) {
	text, err := x.ops.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for row := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(row, name); ok && (rest[0] == ' ' || rest[0] == '{') {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}
