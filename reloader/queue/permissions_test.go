package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

func TestPermits(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern, subject string
		want             bool
	}{
		"the same":                   {"a.b", "a.b", true},
		"another":                    {"a.b", "a.c", false},
		"shorter":                    {"a.b", "a", false},
		"longer":                     {"a.b", "a.b.c", false},
		"one token":                  {"a.*.c", "a.b.c", true},
		"one token is not two":       {"a.*", "a.b.c", false},
		"the rest":                   {"a.>", "a.b.c", true},
		"the rest is not nothing":    {"a.>", "a", false},
		"a wildcard is only a token": {"a.b", "a.*", false},
		"the rest of a wildcard":     {"a.>", "a.>", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Permits(tc.pattern, tc.subject); got != tc.want {
				t.Errorf("Permits(%q, %q) = %t", tc.pattern, tc.subject, got)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	for name, tc := range map[string]struct {
		role          Role
		subject, want string
	}{
		"its own":                 {RoleIngest, "reroll.hint.c1.configmap.shop.a", "the role ingest, dispatch needs that, to store hints"},
		"a part of its own":       {RoleServe, "reroll.hint.c1.configmap.shop.a", "the role ingest, dispatch needs that, to store hints"},
		"the consumer of hints":   {RoleDispatch, "$JS.API.CONSUMER.MSG.NEXT.HINTS.dispatch-c1", "the role dispatch needs that, to consume hints"},
		"an acknowledgement":      {RoleDispatch, "$JS.ACK.HINTS.dispatch-c1.1.2.3.4.5", "acknowledge hints"},
		"a reader":                {RoleAPI, "$JS.API.CONSUMER.CREATE.RELOADS.abc.reroll.reload.>", "read reloads"},
		"the administrator's":     {RoleIngest, "$JS.API.STREAM.CREATE.HINTS", `let it run "reroll nats setup"`},
		"its consumer":            {RoleDispatch, "$JS.API.CONSUMER.CREATE.HINTS.dispatch-c1.reroll.hint.c1.>", `let it run "reroll nats setup"`},
		"as the administrator":    {RoleAdmin, "$JS.API.STREAM.CREATE.HINTS", `"reroll nats permissions" prints`},
		"nobody's":                {RoleIngest, "orders.new", "no role of Reroll needs that"},
		"a deletion of something": {RoleDispatch, "$JS.API.STREAM.DELETE.HINTS", "no role"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := advice(tc.role, tc.subject); !strings.Contains(got, tc.want) {
				t.Errorf("got %q; want %q", got, tc.want)
			}
		})
	}
}

func TestPermissionsOfServeAreThoseOfItsParts(t *testing.T) {
	got, err := PermissionsOf(RoleServe, "c1")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range RoleServe.parts() {
		p, err := PermissionsOf(part, "c1")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range p.Publish {
			if !slices.Contains(got.Publish, one) {
				t.Errorf("%s may publish on %s, and serve may not", part, one.Subject)
			}
		}
	}
}

// asUser starts a server whose user "reroll" has the permissions of a role, and an administrator.
func asUser(t *testing.T, role Role) (admin, user Options) {
	t.Helper()
	p, err := PermissionsOf(role, "blue")
	if err != nil {
		t.Fatal(err)
	}
	allow := func(permissions []Permission) *server.SubjectPermission {
		s := &server.SubjectPermission{}
		for _, one := range permissions {
			s.Allow = append(s.Allow, one.Subject)
		}
		return s
	}
	s := external(t, t.TempDir(), -1, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "admin"},
			{Username: "reroll", Password: "reroll", Permissions: &server.Permissions{Publish: allow(p.Publish), Subscribe: allow(p.Subscribe)}},
		}
	})
	at := s.Addr().String()
	admin = Options{URL: "nats://admin:admin@" + at, Logger: quiet(), MaxStore: testStore}
	return admin, Options{URL: "nats://reroll:reroll@" + at, InboxPrefix: p.InboxPrefix, Role: role, Logger: quiet()}
}

// TestServeWorksWithItsPermissions does everything with the permissions of the one process that has all roles.
func TestServeWorksWithItsPermissions(t *testing.T) {
	admin, user := asUser(t, RoleServe)
	if _, err := Setup(testContext(t), admin, Layout{Clusters: []string{"blue"}}, false); err != nil {
		t.Fatal(err)
	}
	q := open(t, user)
	ctx := testContext(t)
	c, j := consume(t, q, acknowledge), follow(t, q)
	appendChange(t, q, change("a", "one"), 0)
	err := errors.Join(q.Put(ctx, hints(100)), q.BindCluster(ctx, "blue", "uid"), q.AppendReload(ctx, reload("a", "r-1")),
		q.PutWorkload(ctx, record("a")), q.DeleteWorkload(ctx, "blue", workload("a")), q.Healthy(ctx))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "hints and changes", func() bool { return len(c.deliveries()) == 100 && j.has("change 1 one") })
	if _, err := q.LoadWorkloads(ctx, "blue"); err != nil {
		t.Error(err)
	}
	if _, found, err := q.LatestChange(ctx, "blue", config("a")); err != nil || !found {
		t.Errorf("the change of one config: %t, %v", found, err)
	}
	c.end(t)
}

func TestDeniedInboxIsNamedAtOnce(t *testing.T) {
	_, user := asUser(t, RoleIngest)
	user.InboxPrefix = ""
	_, err := Open(testContext(t), user)
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "--nats-inbox-prefix") {
		t.Errorf("got %v", err)
	}
}
