package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
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

// TestWatch: a watch prints the list, the oldest first, and after each event what is new, once; also what happened while the server was away.
func TestWatch(t *testing.T) {
	const ended = "warning: the stream of events has ended [^\n]*\n"
	for format, want := range map[string]string{
		"": `^ID +AGE [^\n]*\nc-1 [^\n]*\nc-2 [^\n]*\nc-3 [^\n]*\n` + ended + `c-4 [^\n]*\n$`, "name": "^c-1\nc-2\nc-3\n" + ended + "c-4\n$",
	} {
		t.Run("-o "+format, func(t *testing.T) {
			source := &changing{ids: []string{"c-2", "c-1"}, news: make(chan string)}
			server := httptest.NewServer(source)
			defer server.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			root := Root("v1.2.3")
			CheckUsage(root)
			from, to := io.Pipe()
			root.SetOut(to)
			root.SetErr(to)
			root.SetArgs([]string{"get", "changes", "-w", "--server", server.URL, "-o", format})
			over := make(chan error, 1)
			go func() { over <- root.ExecuteContext(ctx) }()
			lines, text := bufio.NewScanner(from), ""
			await := func(part string) {
				for !strings.Contains(text, part) && lines.Scan() {
					text += lines.Text() + "\n"
				}
			}
			await("c-2")
			source.news <- ": a heartbeat\n\n"
			source.add("c-3")
			source.news <- "event: changed\ndata: {}\n\n"
			await("c-3")
			source.add("c-4")
			source.news <- "end"
			await("c-4")
			stop()
			if err := <-over; err != nil {
				t.Error(err)
			}
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("it prints\n%s", text)
			}
		})
	}
}
