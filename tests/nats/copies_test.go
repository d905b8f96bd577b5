package nats

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Places at the hub: what local tells c2 and another cluster of one config, and what it asks both for.
const (
	forUs     = "reroll.follow.local.c2.configmap.shared.flags"
	forOthers = "reroll.follow.local.c3.configmap.shared.flags"
)

// confidential is a word in all that c2 may not see.
const confidential = "for-others-only"

// tellEachOther has local tell c2 and c3 something, and ask them.
func tellEachOther(ctx context.Context, t *testing.T, s *server.Server) {
	t.Helper()
	nc, _ := connect(t, s, user{queue.RoleForward, "local"})
	flags := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "flags"}
	for subject, record := range map[string]any{
		forUs:     reloader.Copy{Owner: "local", Target: "c2", Config: flags, Change: reloader.Change{ID: "for-c2"}},
		forOthers: reloader.Copy{Owner: "local", Target: "c3", Config: flags, Change: reloader.Change{ID: confidential}},
		"reroll.want.c3.local": reloader.Want{Owner: "c3", Target: "local", Configs: []reloader.Config{
			{Kind: reloader.ConfigMap, Namespace: "shared", Name: confidential},
		}},
	} {
		data, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := nc.RequestWithContext(ctx, subject, data)
		if err != nil || strings.Contains(string(answer.Data), "error") {
			t.Fatalf("%s could not be stored: %v, %+v", subject, err, answer)
		}
	}
}

// TestNobodyForgesOrReadsCopiesOfOthers has c2, by plain NATS and with its own credentials, speak for other clusters and look at what they tell
// each other, by every way that JetStream has. What it may ask for is answered with its own alone, whatever else is in the request.
func TestNobodyForgesOrReadsCopiesOfOthers(t *testing.T) {
	s := documented(t, "hub-server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	setUpAs(ctx, t, s, user{queue.RoleHubAdmin, ""}, queue.Layout{Hub: true})
	tellEachOther(ctx, t, s)
	before := lastFollows(ctx, t, s)
	nc, _ := connect(t, s, user{queue.RoleForward, "c2"})
	const read = "$JS.API.DIRECT.GET.FOLLOWS"
	for name, c := range map[string]struct{ subject, body string }{
		"a copy of another owner for us":       {forUs, "{}"},
		"a copy of another owner for others":   {forOthers, "{}"},
		"a copy for the owner":                 {"reroll.follow.c3.local.configmap.shared.flags", "{}"},
		"what another one wants of an owner":   {"reroll.want.local.c3", "{}"},
		"what an owner wants of another one":   {"reroll.want.c3.local", "{}"},
		"the word that there is a copy for us": {"reroll.told." + forUs, "{}"},
		"the word that others want something":  {"reroll.told.reroll.want.c2.local", "{}"},

		"the copy of others":                    {read + "." + forOthers, ""},
		"what others want":                      {read + ".reroll.want.c3.local", ""},
		"a message by its place":                {read, `{"seq":1}`},
		"the last of a subject":                 {read, `{"last_by_subj":"` + forOthers + `"}`},
		"the last of many subjects":             {read, `{"multi_last":[">"]}`},
		"the next of a subject":                 {read, `{"seq":1,"next_by_subj":"` + forOthers + `"}`},
		"a message by the other way":            {"$JS.API.STREAM.MSG.GET.FOLLOWS", `{"last_by_subj":"` + forOthers + `"}`},
		"a reader":                              {"$JS.API.CONSUMER.CREATE.FOLLOWS", `{"stream_name":"FOLLOWS","config":{"ack_policy":"none","filter_subject":">"}}`},
		"a reader of our own":                   {"$JS.API.CONSUMER.CREATE.FOLLOWS.x." + forUs, `{"stream_name":"FOLLOWS","config":{"name":"x","ack_policy":"none","filter_subject":"` + forOthers + `"}}`},
		"a reader that stays":                   {"$JS.API.CONSUMER.DURABLE.CREATE.FOLLOWS.x", `{"stream_name":"FOLLOWS","config":{"durable_name":"x","ack_policy":"none"}}`},
		"what a reader has":                     {"$JS.API.CONSUMER.MSG.NEXT.FOLLOWS.x", "1"},
		"what there is":                         {"$JS.API.STREAM.INFO.FOLLOWS", `{"subjects_filter":">"}`},
		"the copies of all for others":          {read + ".reroll.follow.*.c3.>", ""},
		"everything":                            {read + ".>", ""},
		"everything, in the place of an owner":  {read + ".reroll.follow.>", ""},
		"all owners and targets":                {read + ".reroll.follow.*.*.configmap.shared.flags", ""},
		"a rest in the place of a target":       {read + ".reroll.follow.local.>.configmap.shared.flags", ""},
		"the end of a stream that is not there": {"$JS.API.STREAM.DELETE.FOLLOWS", ""},
	} {
		if answer := ask(t, nc, c.subject, c.body); answer != nil {
			t.Errorf("%s, %s: it is answered %q %v", name, c.subject, answer.Data, answer.Header)
		}
	}
	for name, c := range map[string]struct{ subject, body string }{
		"our own":                             {read + "." + forUs, ""},
		"all of our own":                      {read + ".reroll.follow.*.c2.>", ""},
		"with another subject beside it":      {read + "." + forUs, `{"last_by_subj":"` + forOthers + `"}`},
		"with the next of another beside it":  {read + "." + forUs, `{"seq":1,"next_by_subj":"` + forOthers + `"}`},
		"with many others beside it":          {read + "." + forUs, `{"multi_last":[">"]}`},
		"any owner":                           {read + ".reroll.follow.*.c2.configmap.shared.flags", ""},
		"a rest in the place of an owner":     {read + ".reroll.follow.>.c2.configmap.shared.flags", ""},
		"a rest in the place of our own kind": {read + ".reroll.follow.local.c2.>.x", ""},
		"a rest in two places":                {read + ".reroll.follow.>.c2.>", ""},
	} {
		answer := ask(t, nc, c.subject, c.body)
		if answer != nil && (strings.Contains(string(answer.Data), confidential) || strings.Contains(answer.Header.Get(jetstream.SubjectHeader), ".c3.")) {
			t.Errorf("%s, %s: it is answered what is for others: %q %v", name, c.subject, answer.Data, answer.Header)
		}
		if c.subject == read+"."+forUs && c.body == "" && (answer == nil || !strings.Contains(string(answer.Data), "for-c2")) {
			t.Errorf("our own is not answered, which says nothing of what is not: %+v", answer)
		}
	}
	for _, subject := range []string{
		"reroll.told.>", "reroll.told.reroll.follow.*.c3.>", "reroll.told.reroll.follow.local.>", "reroll.told.reroll.want.local.*", "reroll.told.reroll.want.*.*",
		"reroll.follow.>", "reroll.want.>",
	} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if !isDenied(t, nc, "Subscription "+subject) {
			t.Errorf("it may listen to %s", subject)
		}
	}
	if after := lastFollows(ctx, t, s); after != before {
		t.Errorf("%d messages were stored, want %d", after, before)
	}
}

// lastFollows returns the last place in the stream of what clusters tell each other.
func lastFollows(ctx context.Context, t *testing.T, s *server.Server) uint64 {
	t.Helper()
	nc, _ := connect(t, s, user{queue.RoleHubAdmin, ""})
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "FOLLOWS")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.LastSeq
}

// ask makes a request, and returns its answer; nil if it is denied.
func ask(t *testing.T, nc *nats.Conn, subject, body string) *nats.Msg {
	t.Helper()
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Unsubscribe() //nolint:errcheck // the connection lives
	if err := nc.PublishRequest(subject, inbox.Subject, []byte(body)); err != nil {
		t.Fatal(err)
	}
	if isDenied(t, nc, "Publish "+subject) {
		return nil
	}
	answer, err := inbox.NextMsg(waitTime)
	if err != nil {
		t.Fatalf("%s is neither denied nor answered: %v", subject, err)
	}
	return answer
}

// isDenied reports whether the server has denied something by the time that it answers what was sent after it.
func isDenied(t *testing.T, nc *nats.Conn, what string) bool {
	t.Helper()
	if err := nc.FlushTimeout(waitTime); err != nil {
		t.Fatal(err)
	}
	err := nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false
	}
	match := deniedSubject.FindStringSubmatch(err.Error())
	return match != nil && match[1]+" "+match[2] == what
}
