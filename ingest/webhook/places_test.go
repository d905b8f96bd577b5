package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestPlaces(t *testing.T) {
	type step struct {
		take, leave int64
		refused     bool
	}
	cases := map[string]struct {
		steps  []step
		reason string
	}{
		"number":       {[]step{{take: 1}, {take: 1}, {take: 1}, {take: 1, refused: true}, {leave: 1}, {take: 1}}, "three at a time"},
		"bytes":        {[]step{{take: 60}, {take: 40}, {take: 1, refused: true}, {leave: 60}, {take: 60}}, "a hundred at a time"},
		"long":         {[]step{{take: 60}, {take: 41, refused: true}, {take: 40}}, "a shorter one still fits"},
		"longer alone": {[]step{{take: 500}, {take: 1, refused: true}, {leave: 500}, {take: 1}, {take: 500, refused: true}}, "it would never get in otherwise"},
		"empty":        {[]step{{take: 100}, {take: 0}, {take: 0}, {take: 0, refused: true}}, "they count as bodies"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &places{maxBodies: 3, maxBytes: 100}
			for i, s := range c.steps {
				if s.leave > 0 {
					p.leave(s.leave)
					continue
				}
				if got := p.take(s.take); got == s.refused {
					t.Errorf("step %d: taken: %t: %s", i, got, c.reason)
				}
			}
		})
	}
}

// TestBytesAtOnceAreBounded holds one body, and posts others beside it.
func TestBytesAtOnceAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	r := start(t, func(_ *rig, o *Options) {
		o.Limits.BodyBytes, o.Limits.BytesAtOnce = int64(len(body))+100, int64(2*len(body))
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
}

// TestInflatedBytesCount holds a body that is short on its way and long in memory, and posts another one beside it.
func TestInflatedBytesCount(t *testing.T) {
	const atOnce = 1 << 20
	long := strings.Replace(logLine, `{"kind"`, `{"requestObject":"`+strings.Repeat("x", atOnce/4)+`","kind"`, 1)
	inner := base64.StdEncoding.EncodeToString([]byte(compressed(long, gzipped)))
	var many strings.Builder
	for i := range atOnce >> 10 {
		many.WriteString(strings.Replace(logLine, `"db"`, fmt.Sprintf(`"db-%d"`, i), 1))
	}
	gzip := header("Content-Encoding", "gzip")
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
	}{
		"a compressed body":        {compressed(long, gzipped), gzip},
		"compressed texts":         {`{"records":[{"data":"` + inner + `"}]}`, nil},
		"copies at several levels": {compressed(`{"log":`+quotedText(t, `{"log":`+quotedText(t, long)+`}`)+`}`, gzipped), gzip},
		"many hints":               {compressed(many.String(), gzipped), gzip},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.body) > atOnce/20 {
				t.Fatalf("the body has %d bytes: by them alone another one would not fit", len(c.body))
			}
			entered, release := make(chan struct{}), make(chan struct{})
			first := true
			r := start(t, func(_ *rig, o *Options) {
				o.Limits.BodyBytes, o.Limits.BytesAtOnce = atOnce/2, atOnce
				o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
					if first {
						first = false
						close(entered)
						<-release
					}
					return nil
				})
			})
			post := func() (answer, error) {
				return r.do(r.client(true), r.request(strings.NewReader(c.body), shipped(c.change)))
			}
			answers := make(chan answer, 1)
			go func() {
				got, err := post()
				if err != nil {
					t.Error(err)
				}
				answers <- got
			}()
			<-entered
			got, err := post()
			if err != nil {
				t.Fatal(err)
			}
			checkBusy(t, got)
			close(release)
			if got := <-answers; got.code != http.StatusNoContent {
				t.Errorf("the first got %d", got.code)
			}
			if got, err := post(); err != nil || got.code != http.StatusNoContent {
				t.Errorf("when it is over: got %d, %v", got.code, err)
			}
		})
	}
}

func quotedText(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}
