package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func eventList(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}\n"
}

// TestHostileInput posts what anyone with an account can bring into a request, twice. Package audit tests what becomes of it; here nothing of it
// reaches the log, and the good event next to it is stored.
func TestHostileInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	good := strings.TrimSpace(logLine)
	replaced := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for name, bad := range map[string]string{
		"null":                       "null",
		"nesting":                    strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"no JSON":                    `{"xxxxxxxx":tru}`,
		"control characters in name": replaced(`"db"`, `"xxxxxxxx\u001b\n"`),
		"name of 1 MB":               replaced(`"db"`, `"`+long+`"`),
		"namespace with a path":      replaced(`"shop"`, `"../xxxxxxxx"`),
		"dry run":                    replaced(`"requestURI":"/"`, `"requestURI":"/?dryRun=All&x=xxxxxxxx"`),
		"replay with a long ID":      replaced(`"a-1"`, `"`+long+`\u001b[2J"`),
	} {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			client := r.client(true)
			for round := 1; round <= 2; round++ {
				got := r.must(client, r.request(strings.NewReader(eventList(bad, good)), nil))
				if got.code != http.StatusNoContent || stored.count() != round {
					t.Fatalf("round %d: got %d %q and %d hints", round, got.code, got.status.Message, stored.count())
				}
			}
			if strings.Contains(r.log.String(), "xxxxxxxx") || strings.Contains(r.log.String(), "\x1b") {
				t.Error("the log repeats what was posted")
			}
		})
	}
}

// TestBytesAtOnceAreBounded holds one body, and posts others next to it.
func TestBytesAtOnceAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	r := start(t, func(_ *rig, o *Options) {
		o.Limits.BodyBytes = int64(2 * len(body))
		o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
			if first {
				first = false
				close(entered)
				<-release
			}
			return nil
		})
	})
	client := r.client(true)
	answers := make(chan answer, 1)
	held := r.request(strings.NewReader(body+" "), nil)
	go func() {
		got, err := r.do(client, held)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}()
	<-entered
	checkBusy(t, r.must(client, r.request(strings.NewReader(body), nil)))
	checkBusy(t, r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)))
	if got := r.must(client, r.request(strings.NewReader(strings.TrimSpace(body)[:20]), nil)); got.code != http.StatusBadRequest {
		t.Errorf("a short body got %d; there is room for it", got.code)
	}
	close(release)
	if got := <-answers; got.code != http.StatusNoContent {
		t.Errorf("the first got %d", got.code)
	}
	if got := r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)); got.code != http.StatusNoContent {
		t.Errorf("when it is over: got %d", got.code)
	}
	if n := r.metric("reroll_ingest_requests_total", fmt.Sprint(http.StatusServiceUnavailable)); n != 2 {
		t.Errorf("%v refusals are counted, want 2", n)
	}
}
