package lease

import (
	"os"
	"syscall"
	"testing"
	"time"
)

const (
	// failover is how long a killed leader may be missed.
	failover = 20 * time.Second
	// handover is how long nobody may lead after a leader that ended in order.
	handover = 3 * time.Second
	// startTime is how long a candidate may take to lead where nobody does.
	startTime = 30 * time.Second
)

// pair starts a leader and a candidate next to it.
func pair(t *testing.T, lease string) (leader, other *candidate) {
	t.Helper()
	began := time.Now()
	leader = start(t, lease, lease+"-a")
	leader.await("begin", began, startTime)
	other = start(t, lease, lease+"-b")
	other.await("ready", began, startTime)
	return leader, other
}

// This test stops the API server for all and therefore comes first, alone.
func TestLeaderWithoutAPIServer(t *testing.T) {
	a, b := pair(t, "outage")
	stopped := time.Now()
	if err := cluster.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The server's own end takes time, in which renewals may still succeed.
	if end := a.await("end", stopped, time.Since(stopped)+11*time.Second); !end.Lost {
		t.Error("the leader did not say that it lost its leadership")
	}
	if err := cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The other one may lead before the server is ready, or first have to find that its connections are dead.
	b.await("begin", stopped, time.Since(stopped)+2*failover)
	checkAlone(t, a, b)
}

func TestKilledLeader(t *testing.T) {
	t.Parallel()
	a, b := pair(t, "killed")
	killed := a.signal(os.Kill)
	b.await("begin", killed, failover)
	<-a.exited
	checkAlone(t, a, b)
}

func TestLeaderThatEnds(t *testing.T) {
	t.Parallel()
	a, b := pair(t, "ended")
	// The other one must have seen that the Lease is held; an end before that would show nothing.
	a.await("beat", time.Now().Add(3*time.Second), startTime)
	end := a.await("end", a.signal(syscall.SIGTERM), handover)
	b.await("begin", end.At, handover)
	<-a.exited
	checkAlone(t, a, b)
}

// A leader that was paused for longer than its lease learns at once that it leads no more, and ends.
func TestPausedLeader(t *testing.T) {
	t.Parallel()
	a, b := pair(t, "paused")
	paused := a.signal(syscall.SIGSTOP)
	b.await("begin", paused, failover)
	resumed := a.signal(syscall.SIGCONT)
	if end := a.await("end", resumed, time.Second); !end.Lost {
		t.Error("the old leader did not say that it lost its leadership")
	}
	// What it still did before it knew is caught by the preconditions of its writes; it must be next to nothing.
	if beats := a.count("beat", resumed); beats > 2 {
		t.Errorf("the old leader worked %d times after its pause", beats)
	}
	<-a.exited
}
