package stakater_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all scenarios, one reroll process after another.
var shared *line.Line

// together is how many scenarios run next to each other.
const together = 8

// suiteTime bounds the whole.
const suiteTime = 20 * time.Minute

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	flag.Parse()
	// Scenarios mostly wait: more of them fit on a machine than it has processors.
	if err := flag.Set("test.parallel", strconv.Itoa(together)); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	var err error
	shared, err = line.Start(ctx, line.Options{Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	if err := prepare(ctx, shared.Kube); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// prepare gives the cluster the kinds of other vendors, and a policy that some writes are refused by.
func prepare(ctx context.Context, cluster *kube.Cluster) error {
	if _, err := cluster.Kubectl(ctx, "apply", "-f", "../../testdata/crds"); err != nil {
		return err
	}
	if _, err := cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return err
	}
	if _, err := cluster.Kubectl(ctx, "apply", "-f", "testdata/refuse.yaml"); err != nil {
		return err
	}
	return refuses(ctx, cluster)
}

// refuses waits until the policy is in force.
func refuses(ctx context.Context, cluster *kube.Cluster) error {
	_, err := cluster.Kubectl(ctx, "create", "-f", "testdata/refused.yaml")
	if err != nil {
		return err
	}
	return line.Poll(ctx, func(ctx context.Context) error {
		_, err := cluster.Kubectl(ctx, "annotate", "--dry-run=server", "--overwrite", "--namespace=default", "deployment/refused", "try=it")
		if err == nil {
			return fmt.Errorf("writes of the Deployment refused are not refused yet")
		}
		return nil
	})
}
