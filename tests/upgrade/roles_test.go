package upgrade

import (
	"context"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

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
			}, natsserver.Start(t).ClientURL())
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
