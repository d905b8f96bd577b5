package line

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/pki"
	"github.com/reroll-dev/reroll/tests/port"
)

// ingestFile has the address that receives the audit events of the shared control plane. One line at a time listens there.
const ingestFile = "ingest.address"

// Share starts a control plane for several test binaries and returns it with its directory, which belongs into REROLL_RIG. The caller
// stops it and removes the directory.
func Share(ctx context.Context) (cluster *kube.Cluster, dir string, err error) {
	parent, err := os.MkdirTemp("", "reroll-rig-")
	if err != nil {
		return nil, "", err
	}
	dir = filepath.Join(parent, "cluster")
	addresses, err := port.Addresses(1)
	if err != nil {
		return nil, "", err
	}
	ca, err := pki.NewCA("audit")
	if err != nil {
		return nil, "", err
	}
	files, err := issue(ca, parent, ClusterName)
	if err = errors.Join(err, os.WriteFile(filepath.Join(parent, caKey), ca.KeyPEM(), 0o600)); err != nil {
		return nil, "", fmt.Errorf("make certificates: %w", err)
	}
	cluster, err = kube.Start(ctx, kube.Options{
		Dir: dir, ControlPlaneOnly: true,
		Audit: &kube.Audit{
			URL: "https://" + addresses[0] + "/v1/audit/" + ClusterName, CAPEM: files.ca, Client: files.client,
			// A test that stops Reroll is sent what it missed soon after the next start.
			InitialBackoff: time.Second,
		},
	})
	if err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "..", ingestFile), []byte(addresses[0]), 0o600); err != nil {
		cluster.Stop()
		return nil, "", err
	}
	return cluster, dir, cluster.Share()
}

// keepLog leaves what Reroll has logged next to the logs of the shared control plane, for who looks for the cause of a failure.
func keepLog(l *Line) {
	if kube.SharedDir() == "" || l.Reroll == nil {
		return
	}
	name := fmt.Sprintf("reroll-%s.log", filepath.Base(l.dir))
	_ = os.WriteFile(filepath.Join(kube.SharedDir(), "logs", name), []byte(l.Reroll.Log()), 0o600)
}

// caKey has the key of the CA of the audit feed.
const caKey = "ca.key"

// readShared reads what a line needs to receive the events of the shared control plane.
func readShared(dir string) (ca *pki.CA, ingest string, err error) {
	parent := filepath.Dir(dir)
	if ca, err = pki.ReadCA(filepath.Join(parent, clientCA), filepath.Join(parent, caKey)); err != nil {
		return nil, "", err
	}
	address, err := os.ReadFile(filepath.Join(parent, ingestFile))
	return ca, string(address), err
}

// Commit returns the commit of the sources around the working directory: 12 hexadecimal digits, with "-dirty" behind them if files of it
// were edited since, or "unknown" where git does not tell. A report that names it can be made again.
func Commit(ctx context.Context) string {
	output, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(output))
}
