package lease

import (
	"context"
	"fmt"
	"os"
	"testing"

	rig "github.com/reroll-dev/reroll/tests/kube"
)

// cluster is shared by all tests, each with its own Lease.
var cluster *rig.Cluster

func TestMain(m *testing.M) {
	if given := os.Getenv(candidateVariable); given != "" {
		os.Exit(stand(given))
	}
	var err error
	if cluster, err = rig.Start(context.Background(), rig.Options{ControlPlaneOnly: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}
