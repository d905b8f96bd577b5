package fleet

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() {
		return
	}
	fmt.Println("commit", line.Commit(context.Background()))
	os.Exit(m.Run())
}

// setting returns a number from the environment, or the one that is in place of it.
func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// What the run does. make fleet asks for more of all of it.
var (
	cutTime = time.Duration(setting("FLEET_CUT_SECONDS", 20)) * time.Second
	kills   = setting("FLEET_KILLS", 3)
)

// testTime bounds the whole run.
var testTime = 6*time.Minute + 2*cutTime + time.Duration(kills)*time.Minute

// hub is a NATS cluster that is set up as one.
type hub struct {
	*natsserver.Cluster
	t *testing.T
}

func startHub(ctx context.Context, t *testing.T) *hub {
	t.Helper()
	clusters := []string{"c1", "c2", "c3"}
	h := &hub{natsserver.StartCluster(t, clusters...), t}
	for _, c := range clusters {
		must(t, line.Poll(ctx, func(ctx context.Context) error {
			_, err := run(ctx, append([]string{"hub", "add", c, "--set", "nats.url=" + h.URL, "--set", "nats.replicas=" + strconv.Itoa(natsserver.Members)}, login(t, "nats", natsserver.HubUser)...)...)
			return err
		}))
	}
	return h
}

// login returns the flags with which a user logs in: those of the NATS of a process, or of a hub.
func login(t *testing.T, of, user string) []string {
	t.Helper()
	return []string{"--set", of + ".user=" + user, "--set", of + ".passwordFile=" + natsserver.PasswordFile(t)}
}
