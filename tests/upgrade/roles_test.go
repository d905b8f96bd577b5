package upgrade

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// natsTime bounds the start of a NATS server.
const natsTime = 20 * time.Second

func startNATS(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(natsTime) {
		t.Fatalf("NATS was not ready within %s", natsTime)
	}
	return s
}

// TestRolesOneAfterTheOther exchanges one role after the other, so that each is for a while the only one of its version, new and old: helm, which
// replaces all at once, lets them come in any order.
func TestRolesOneAfterTheOther(t *testing.T) {
	for _, from := range versions(t) {
		t.Run(from, func(t *testing.T) {
			old := build(t, from)
			ctx, cancel := context.WithTimeout(t.Context(), testTime)
			defer cancel()
			newest, err := line.Build(ctx)
			if err != nil {
				t.Fatal(err)
			}
			l, err := line.StartRoles(ctx, line.Options{
				Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, Flags: quick, Binary: old,
			}, startNATS(t).ClientURL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Stop)
			s := newSite(ctx, t, l)
			s.editAll()
			s.judge("before")
			for _, turn := range []struct {
				name, to string
				role     *line.Reroll
			}{
				{"new dispatch", newest, l.Dispatch},
				{"new ingest", newest, l.Ingest},
				{"new api", newest, l.Reroll},
				{"old dispatch", old, l.Dispatch}, // with a new ingest and a new api
				{"old ingest", old, l.Ingest},
				{"old api", old, l.Reroll},
				{"new ingest", newest, l.Ingest}, // with an old dispatch
				{"new api", newest, l.Reroll},
				{"old ingest", old, l.Ingest},
				{"new dispatch", newest, l.Dispatch}, // with an old ingest
			} {
				s.replace(turn.name, turn.role, turn.to)
			}
		})
	}
}

// replace exchanges one role, and edits meanwhile.
func (s *site) replace(name string, role *line.Reroll, to string) {
	s.t.Helper()
	s.t.Log(name)
	before := s.history()
	s.must(role.Terminate(s.ctx))
	s.edit("away", "away-daemon")
	role.Use(to)
	s.must(role.Start())
	s.must(role.WaitReady(s.ctx))
	s.judge(name)
	s.compare(name, before)
	s.editAll()
	s.judge("after the " + name)
}
