//go:build nightly

package thousand

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() || serveForwarder() {
		return
	}
	fmt.Println("commit", line.Commit(context.Background()))
	os.Exit(m.Run())
}

// setting returns a number from the environment, or that of a small run.
func setting(name string, small int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return small
}

// The size of a run. make thousand asks for more of all of it.
var (
	members = setting("THOUSAND_MEMBERS", 20)
	cutTime = time.Duration(setting("THOUSAND_CUT_SECONDS", 30)) * time.Second
	kills   = setting("THOUSAND_KILLS", 30)
	written = setting("THOUSAND_RECORDS", 600)
)

var quiet = slog.New(slog.DiscardHandler)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func login(url, user, password string) queue.Options {
	return queue.Options{URL: url, Login: queue.Login{User: user, PasswordFile: password}, Logger: quiet}
}

func clusterName(i int) string { return fmt.Sprintf("c%03d", i) }

func clusterNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = clusterName(i)
	}
	return names
}

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// about returns a random time whose mean is d.
func about(d time.Duration) time.Duration { return time.Duration(rand.ExpFloat64() * float64(d)) }

// percentile returns the time within which a part of those was.
func percentile(took []time.Duration, part float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(took))[min(len(took)-1, int(part*float64(len(took))))].Round(time.Millisecond / 10)
}
