package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// pageSize is that of the pages that are measured, and largestPage the largest that there is.
	pageSize    = 100
	largestPage = 500
	// pace is how often one client asks: less often than it may.
	pace = 25 * time.Millisecond
)

// api prints how long the role api takes to answer with many reloads on record, to tell many clients of an event, and what memory it
// needs meanwhile: a process of its own, over a NATS in which all is stored.
func (b *bench) api(ctx context.Context) error {
	heading(fmt.Sprintf("the role api with %d reloads, %d changes and %d workloads on record", b.reloads, b.reloads/2, services))
	s, err := newStore(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx) //nolint:errcheck // nothing in it is wanted any more
	if err := s.fill(ctx, b.reloads); err != nil {
		return fmt.Errorf("store the records: %w", err)
	}
	if _, err := line.Build(ctx); err != nil {
		return err
	}
	start := time.Now()
	r, err := line.StartAPI(ctx, s.nats.ClientURL())
	if err != nil {
		return err
	}
	defer r.Kill()
	row("start → ready, all records read", "%s", ms(time.Since(start)))
	memory := func(when string) error {
		resident, err := residentMB(r.PID())
		row("resident memory "+when, "%.0f MB", resident)
		return err
	}
	if err := memory("when ready"); err != nil {
		return err
	}
	if err := b.lists(ctx, r); err != nil {
		return err
	}
	if err := memory("after the lists"); err != nil {
		return err
	}
	if err := b.streams(ctx, s, r); err != nil {
		return err
	}
	return memory("with all streams open")
}

// lists measures pages of listings beside a handler that answers nothing.
func (b *bench) lists(ctx context.Context, r *line.Reroll) error {
	empty := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer empty.Close()
	deep, err := b.deepCursor(ctx, r)
	if err != nil {
		return err
	}
	const reloads = "/api/v1/reloads?limit=100"
	for _, list := range []struct{ name, url string }{
		{"an empty handler", empty.URL},
		{"self", r.API + "/api/v1/self"},
		{"reloads, newest 100", r.API + reloads},
		{"  of one namespace", r.API + reloads + "&namespace=team-7"},
		{"  of a workload that there is not", r.API + reloads + "&name=none"},
		{"  the last 100 of all", r.API + reloads + "&continue=" + deep},
		{"changes, newest 100", r.API + "/api/v1/changes?limit=100"},
		{"workloads, first 100", r.API + "/api/v1/workloads?limit=100"},
		{"stats of a day", r.API + "/api/v1/stats"},
	} {
		took, size, err := b.ask(ctx, list.url)
		if err != nil {
			return fmt.Errorf("%s: %w", list.name, err)
		}
		row(list.name, "%s; %.1f KB", percentiles(took), float64(size)/1024)
	}
	return nil
}

// ask measures one question asked again and again on one connection, and returns how large the answer is.
func (b *bench) ask(ctx context.Context, url string) (took []time.Duration, size int64, err error) {
	client := clientAt("127.0.0.1")
	defer client.CloseIdleConnections()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for range b.asks {
		start := time.Now()
		if size, err = read(ctx, client, url); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(start))
		<-tick.C
	}
	return took, size, nil
}

// read gets all of an answer and returns its length in bytes.
func read(ctx context.Context, client *http.Client, url string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	size, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return size, err
}

// deepCursor goes through all reloads and returns the cursor of the last pageSize of them.
func (b *bench) deepCursor(ctx context.Context, r *line.Reroll) (cursor string, err error) {
	seen := 0
	for limit := largestPage; ; {
		var page struct {
			Items    []json.RawMessage
			Metadata struct{ Continue string }
		}
		if left := b.reloads - seen; left <= largestPage {
			limit = left - pageSize
		}
		path := "/api/v1/reloads?limit=" + strconv.Itoa(limit)
		if cursor != "" {
			path += "&continue=" + cursor
		}
		if err := r.Get(ctx, path, &page); err != nil {
			return "", err
		}
		seen, cursor = seen+len(page.Items), page.Metadata.Continue
		if cursor == "" {
			return "", fmt.Errorf("the list ends after %d of %d reloads", seen, b.reloads)
		}
		if b.reloads-seen <= pageSize {
			return cursor, nil
		}
	}
}

// clientAt returns a client that comes from an address of this machine: the API counts the requests of each.
func clientAt(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}
