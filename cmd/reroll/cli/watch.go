package cli

import (
	"bufio"
	"cmp"
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

// silenceTime is how long a server that sends a heartbeat every ten seconds may send nothing, and retryTime how long to wait before a stream is opened again.
const silenceTime, retryTime = 35 * time.Second, time.Second

type watched struct {
	*getFlags
	s *session
	// seen is what was printed of each record, by cluster and name.
	seen    map[string]string
	columns []column
	widths  []int
}

// follow prints the list, and after each event what is new or different in it. An event says that something has changed, and nothing else. A stream
// begins with one.
func (f *getFlags) follow(s *session) error {
	w := &watched{getFlags: f, s: s, seen: map[string]string{}}
	for {
		err := w.listen()
		switch {
		case s.Err() != nil:
			return nil
		case w.columns == nil || isFinal(err):
			return err
		}
		warn(s.cmd, []string{fmt.Sprintf("the stream of events has ended (%v); trying again", err)})
		select {
		case <-s.Done():
		case <-time.After(retryTime):
		}
	}
}

// isFinal reports whether asking again would get the same answer.
func isFinal(err error) bool {
	var refused *refusal
	var failed coded
	return errors.As(err, &failed) || errors.As(err, &refused) && refused.status < http.StatusInternalServerError && refused.status != http.StatusTooManyRequests
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
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		silence.Reset(silenceTime)
		if !strings.HasPrefix(lines.Text(), "event:") {
			continue
		}
		if err := w.refresh(); err != nil {
			return err
		}
	}
	return cmp.Or(context.Cause(ctx), lines.Err(), io.EOF)
}

func (w *watched) refresh() error {
	l, _, err := w.fetch(w.s)
	if err != nil {
		return err
	}
	now := time.Now()
	rows, columns, err := w.rows(l.raw, now)
	if err != nil {
		return err
	}
	if len(w.seen) == 0 {
		warn(w.s.cmd, l.warnings)
		w.columns = columns
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
	w.widths = out.table(w.columns, fresh, w.format == formatWide, w.widths)
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
