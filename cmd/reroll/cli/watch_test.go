package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// changing is a server whose list of changes grows, and which only says that something has changed.
type changing struct {
	sync.Mutex
	ids  []string
	news chan string
}

func (c *changing) add(id string) {
	c.Lock()
	defer c.Unlock()
	c.ids = append([]string{id}, c.ids...)
}

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/events" {
		_, _ = fmt.Fprint(w, "event: hello\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		for {
			select {
			case said := <-c.news:
				if said == "end" {
					return
				}
				_, _ = fmt.Fprint(w, said)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	c.Lock()
	defer c.Unlock()
	var items []string
	for _, id := range c.ids {
		items = append(items, fmt.Sprintf(`{"id":%q,"cluster":"local","verifiedAt":"2026-01-01T00:00:00Z"}`, id))
	}
	_, _ = fmt.Fprintf(w, `{"items":[%s],"warnings":[]}`, strings.Join(items, ","))
}

// printed is what a command has printed so far.
type printed struct {
	sync.Mutex
	text string
	grew chan struct{}
}

func (p *printed) Write(b []byte) (int, error) {
	p.Lock()
	defer p.Unlock()
	p.text += string(b)
	select {
	case p.grew <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (p *printed) await(t *testing.T, part string) {
	t.Helper()
	for {
		p.Lock()
		text := p.text
		p.Unlock()
		if strings.Contains(text, part) {
			return
		}
		select {
		case <-p.grew:
		case <-time.After(20 * time.Second):
			t.Fatalf("%q is not printed:\n%s", part, text)
		}
	}
}

// TestWatch: a watch prints the list, the oldest first, and after each event what is new, once; also what happened while the server was away.
func TestWatch(t *testing.T) {
	for format, want := range map[string]string{"": `(?s)^ID +AGE [^\n]*\nc-1 [^\n]*\nc-2 [^\n]*\nc-3 [^\n]*\nc-4 [^\n]*\n$`, "name": "^c-1\nc-2\nc-3\nc-4\n$"} {
		t.Run("-o "+format, func(t *testing.T) {
			source := &changing{ids: []string{"c-2", "c-1"}, news: make(chan string)}
			server := httptest.NewServer(source)
			defer server.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			root := Root("v1.2.3")
			CheckUsage(root)
			out, errs, ended := &printed{grew: make(chan struct{}, 1)}, &printed{grew: make(chan struct{}, 1)}, make(chan error, 1)
			root.SetOut(out)
			root.SetErr(errs)
			root.SetArgs(slices.Concat([]string{"get", "changes", "-w", "--server", server.URL}, []string{"-o", format}))
			go func() { ended <- root.ExecuteContext(ctx) }()
			out.await(t, "c-2")
			source.news <- ": a heartbeat\n\n"
			source.add("c-3")
			source.news <- "event: changed\ndata: {}\n\n"
			out.await(t, "c-3")
			source.add("c-4")
			source.news <- "end"
			out.await(t, "c-4")
			errs.await(t, "the stream of events has ended")
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if !regexp.MustCompile(want).MatchString(out.text) {
				t.Errorf("it prints\n%s", out.text)
			}
		})
	}
}
