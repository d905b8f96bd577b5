package nats

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// user is one user of a configuration.
type user struct {
	role    queue.Role
	cluster string
}

// users are those of each configuration in docs/nats.
var users = map[string][]user{
	"server.conf": {
		{queue.RoleAdmin, "local"},
		{queue.RoleIngest, "local"},
		{queue.RoleDispatch, "local"},
		{queue.RoleAPI, "local"},
		{queue.RoleAdmin, "c2"},
		{queue.RoleIngest, "c2"},
		{queue.RoleDispatch, "c2"},
		{queue.RoleAPI, "c2"},
	},
	"hub-server.conf": {{queue.RoleHubAdmin, ""}, {queue.RoleHubAPI, ""}, {queue.RoleForward, "local"}, {queue.RoleForward, "c2"}},
}

// foreign are subjects that nobody needs.
var foreign = []string{
	"reroll", "reroll.hint", "reroll.cmd.local.freeze", "orders.new", "$SYS.REQ.SERVER.PING", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES",
	"$JS.API.STREAM.CREATE.OWN", "$JS.API.STREAM.DELETE.HINTS", "$JS.API.STREAM.DELETE.CHANGES", "$JS.API.STREAM.PURGE.OWN", "$JS.API.STREAM.DELETE.RELOADS",
	"$JS.API.STREAM.MSG.GET.CHANGES", "$JS.API.STREAM.MSG.DELETE.CHANGES", "$JS.API.STREAM.SNAPSHOT.CHANGES", "$JS.API.STREAM.RESTORE.CHANGES",
	"$JS.API.DIRECT.GET.CHANGES", "$JS.API.DIRECT.GET.HINTS", "$JS.API.CONSUMER.CREATE.HINTS", "$JS.API.CONSUMER.CREATE.CHANGES",
	"$JS.API.CONSUMER.CREATE.CHANGES.x", "$JS.API.CONSUMER.DURABLE.CREATE.HINTS.x", "$JS.API.CONSUMER.DELETE.HINTS.dispatch-local",
	"$JS.API.CONSUMER.PAUSE.HINTS.dispatch-local", "$JS.API.CONSUMER.NAMES.HINTS", "$JS.API.CONSUMER.LIST.HINTS", "$JS.API.META.LEADER.STEPDOWN",
}

// everySubject returns an example of each subject that anybody may publish on, and those that nobody may.
func everySubject(t *testing.T) []string {
	t.Helper()
	subjects := slices.Clone(foreign)
	for _, all := range users {
		for _, u := range all {
			for _, p := range permissions(t, u).Publish {
				subjects = append(subjects, strings.ReplaceAll(strings.ReplaceAll(p.Subject, "*", "x"), ">", "configmap.shop.x"))
			}
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

func permissions(t *testing.T, u user) queue.Permissions {
	t.Helper()
	p, err := queue.PermissionsOf(u.role, u.cluster)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// denials collects what a server denies a client.
type denials struct {
	mu   sync.Mutex
	seen map[string]bool
}

var deniedSubject = regexp.MustCompile(`(Publish|Subscription) to "([^"]+)"`)

func (d *denials) note(_ *nats.Conn, _ *nats.Subscription, err error) {
	match := deniedSubject.FindStringSubmatch(err.Error())
	if match == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[match[1]+" "+match[2]] = true
}

func (d *denials) sorted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.seen))
}

// connect logs in as a user without Reroll.
func connect(t *testing.T, s *server.Server, u user) (*nats.Conn, *denials) {
	t.Helper()
	d := &denials{seen: map[string]bool{}}
	nc, err := nats.Connect(s.ClientURL(), nats.UserInfo(u.role.UserName(u.cluster), queue.PasswordVariable(u.role, u.cluster)),
		nats.CustomInboxPrefix(u.role.InboxPrefix(u.cluster)), nats.ErrorHandler(d.note))
	if err != nil {
		t.Fatalf("%v: %v", u, err)
	}
	t.Cleanup(nc.Close)
	return nc, d
}

// TestEachRoleIsRefusedEverythingElse has every user publish on every subject that any user needs, and on some that none needs, and
// subscribe to what others get.
func TestEachRoleIsRefusedEverythingElse(t *testing.T) {
	subjects := everySubject(t)
	inboxes := []string{"_INBOX.>", ">", "reroll.>", "$KV.>", "$JS.>", "$JS.ACK.>", "$SYS.>"}
	for _, all := range users {
		for _, u := range all {
			inboxes = append(inboxes, u.role.InboxPrefix(u.cluster)+".>")
		}
	}
	for config, all := range users {
		s := documented(t, config)
		for _, u := range all {
			t.Run(u.role.UserName(u.cluster), func(t *testing.T) { checkDenied(t, s, u, subjects, inboxes) })
		}
	}
}

// checkDenied has a user try everything, and compares what is denied with what the table of permissions does not have.
func checkDenied(t *testing.T, s *server.Server, u user, subjects, inboxes []string) {
	t.Helper()
	nc, denied := connect(t, s, u)
	may := permissions(t, u)
	var want []string
	for _, subject := range subjects {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if !permitted(may.Publish, subject) {
			want = append(want, "Publish "+subject)
		}
	}
	for _, subject := range inboxes {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if !permitted(may.Subscribe, subject) {
			want = append(want, "Subscription "+subject)
		}
	}
	if err := nc.FlushTimeout(waitTime); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	err := line.Poll(ctx, func(context.Context) error {
		if len(denied.sorted()) < len(want) {
			return errors.New("not all of it is denied")
		}
		return nil
	})
	if diff := cmp.Diff(want, denied.sorted()); diff != "" || err != nil {
		t.Errorf("denied (-want +got): %v\n%s", err, diff)
	}
	if len(want) < len(subjects)/2 {
		t.Errorf("only %d of %d subjects are denied: that is not little", len(want), len(subjects))
	}
}

func permitted(by []queue.Permission, subject string) bool {
	return slices.ContainsFunc(by, func(p queue.Permission) bool { return queue.Permits(p.Subject, subject) })
}
