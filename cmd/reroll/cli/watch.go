package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// quietTime is how long news are gathered before the list is fetched again.
	quietTime = 300 * time.Millisecond
	// silenceTime is how long a server that sends a heartbeat every ten seconds may send nothing.
	silenceTime = 35 * time.Second
	// Pauses between two tries to open the stream again.
	firstWait, longestWait = 500 * time.Millisecond, 15 * time.Second
)

// watched is what a watch has printed.
type watched struct {
	*getFlags
	s *session
	// seen is what was printed of each record, by cluster and name.
	seen    map[string]string
	columns []column
	widths  []int
}

// follow prints the list, and after each event what is new or different in it. An event says that something has changed, and nothing else.
func (f *getFlags) follow(s *session) error {
	w := &watched{getFlags: f, s: s, seen: map[string]string{}}
	wait := firstWait
	for {
		if err := w.refresh(); err == nil {
			wait = firstWait
			err = w.listen()
			if s.Err() == nil {
				warn(s.cmd, []string{fmt.Sprintf("the stream of events has ended (%v); trying again", err)})
			}
		} else if w.columns == nil || isFinal(err) {
			return err
		}
		select {
		case <-s.Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, longestWait)
		}
	}
}

// isFinal reports whether asking again would get the same answer.
func isFinal(err error) bool {
	var refused *refusal
	var failed coded
	return errors.As(err, &failed) || errors.As(err, &refused) && refused.status < http.StatusInternalServerError && refused.later == 0
}

// listen fetches the list again after each event until the stream ends.
func (w *watched) listen() error {
	ctx, cancel := context.WithCancelCause(w.s)
	defer cancel(nil)
	silence := time.AfterFunc(silenceTime, func() { cancel(fmt.Errorf("the server sent nothing for %s", silenceTime)) })
	defer silence.Stop()
	response, err := w.s.send(ctx, http.MethodGet, path("events"), nil, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	news, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- readEvents(response.Body, func() { silence.Reset(silenceTime) }, news) }()
	for {
		select {
		case err := <-ended:
			return errors.Join(context.Cause(ctx), err)
		case <-news:
		}
		select {
		case <-w.s.Done():
			return w.s.Err()
		case <-time.After(quietTime):
		}
		select {
		case <-news:
		default:
		}
		if err := w.refresh(); err != nil {
			return err
		}
	}
}

// readEvents reports each event of a stream until it ends. beat is called for every line. The first event, hello, says that nothing is missed from
// now on: what happened since the list was fetched is fetched once more.
func readEvents(r io.Reader, beat func(), news chan<- struct{}) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 8<<20)
	event := false
	for scanner.Scan() {
		beat()
		switch line := scanner.Text(); {
		case strings.HasPrefix(line, "event:"), strings.HasPrefix(line, "data:"):
			event = true
		case line == "" && event:
			event = false
			select {
			case news <- struct{}{}:
			default: // one is enough
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return errors.New("the server closed the connection")
}

// refresh fetches the list and prints what is new or different.
func (w *watched) refresh() error {
	l, _, err := w.fetch(w.s)
	if err != nil {
		return err
	}
	now := time.Now()
	rows, err := w.rows(l.raw, now)
	if err != nil {
		return err
	}
	if len(w.seen) == 0 {
		warn(w.s.cmd, l.warnings)
		w.columns = w.columnsFor(rows)
	}
	var fresh []row
	for i := range slices.Backward(rows) { // the newest last
		key, shown := rows[i].cluster+"/"+rows[i].name, w.shown(rows[i], l.raw[i])
		if w.seen[key] == shown {
			continue
		}
		w.seen[key] = shown
		if !w.tabular() {
			if err := w.print(w.s.cmd, answer{body: l.raw[i], names: []string{rows[i].name}}); err != nil {
				return err
			}
			continue
		}
		fresh = append(fresh, rows[i])
	}
	if len(fresh) == 0 {
		return nil
	}
	out := newLines(w.s.cmd.OutOrStdout())
	w.widths = out.table(w.columns, cellsOf(fresh), w.format == formatWide, w.widths)
	return out.err
}

// shown returns what counts of a record: in a table, the cells but those of ages.
func (w *watched) shown(r row, raw json.RawMessage) string {
	if !w.tabular() {
		return string(raw)
	}
	var texts []string
	for i, c := range r.cells {
		if !w.getFlags.columns[i].age {
			texts = append(texts, c.text)
		}
	}
	return strings.Join(texts, "\x00")
}
