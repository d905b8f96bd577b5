package line

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
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
	files, err := makeCertificates(parent, ClusterName)
	if err != nil {
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

// readShared reads what a line needs to receive the events of the shared control plane.
func readShared(dir string) (files certificates, ingest string, err error) {
	parent := filepath.Dir(dir)
	if files, err = readCertificates(parent); err != nil {
		return files, "", err
	}
	address, err := os.ReadFile(filepath.Join(parent, ingestFile))
	return files, string(address), err
}
