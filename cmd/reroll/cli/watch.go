package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

// Pauses between two tries to open the stream again.
const firstWait, longestWait = 500 * time.Millisecond, 15 * time.Second

// eventTypes are what can be watched.
var eventTypes = []string{"change", "reload", "workload", "workloadGone", "cluster"}

// watchFlags say what is watched.
type watchFlags struct {
	question
	scope
	types []string
	most  int
	until time.Duration
}

// watchCommand shows what happens as it does.
func watchCommand(version string) *cobra.Command {
	q := &watchFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show what happens as it happens: changes, reloads, and how workloads and clusters are",
		Long: "Show what happens as it happens, a line for each event, until it is interrupted. If the server goes away it is asked again until it is back,\n" +
			"and what happened meanwhile is shown; if the server does not know that any more, a warning says so. -o json prints one object for each\n" +
			"event: its id, its type as event, and as data what the listings have. As soon as nothing can be missed any more, standard error says watching.",
		Example: "  reroll watch -n shop\n  reroll watch --types change,reload -o json | jq -r .data.id\n  reroll watch --types reload -n shop --count 1 --for 5m",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}
	q.question.bind(cmd, formatJSON)
	q.scope.bindAll(cmd, &q.question)
	f := cmd.Flags()
	f.StringSliceVar(&q.types, "types", []string{"change", "reload"}, "which events: "+strings.Join(eventTypes, ", "))
	f.IntVar(&q.most, "count", 0, "end after so many events; 0 is never")
	f.DurationVar(&q.until, "for", 0, "end after this time, with code 1 if --count has not been reached; 0 is never")
	fixed(cmd, "types", eventTypes)
	return cmd
}

func (f *watchFlags) run(cmd *cobra.Command) error {
	for _, t := range f.types {
		if !slices.Contains(eventTypes, t) {
			return Usage(fmt.Errorf("--types: %q is not one of %s", t, strings.Join(eventTypes, ", ")))
		}
	}
	s, err := f.open(cmd)
	if err != nil {
		return err
	}
	if f.until > 0 {
		ctx, cancel := context.WithTimeout(s.Context, f.until)
		defer cancel()
		s.Context = ctx
	}
	w := &watcher{session: s, flags: f, colours: coloured(cmd.OutOrStdout())}
	err = w.run()
	switch {
	case errors.Is(err, errEnough):
		return nil
	case s.Err() == nil:
		return err
	case f.most > 0 && errors.Is(s.Err(), context.DeadlineExceeded):
		return fmt.Errorf("only %d of %d events came in %s", w.count, f.most, f.until)
	}
	return nil
}

// errEnough ends a watch that has shown what was wanted.
var errEnough = errors.New("enough")

// watcher follows the stream of events.
type watcher struct {
	*session
	flags   *watchFlags
	colours bool
	// last is the ID of the last event that was seen, and count how many were shown.
	last  string
	count int
}

// run follows the stream, and opens it again, until there is no use in it.
func (w *watcher) run() error {
	wait := firstWait
	for w.Err() == nil {
		seen := w.last
		err := w.follow()
		var refused *refusal
		switch {
		case errors.Is(err, errEnough), w.Err() != nil:
			return err
		case errors.As(err, &refused) && refused.status < http.StatusInternalServerError && refused.later == 0:
			return err // it will not be another answer next time
		case w.last != seen:
			wait = firstWait
		}
		w.warn([]string{fmt.Sprintf("the stream of events has ended (%v); trying again", err)})
		select {
		case <-w.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestWait)
	}
	return w.Err()
}

// follow shows events until the stream ends, which is always with an error.
func (w *watcher) follow() error {
	ctx, cancel := context.WithCancelCause(w.Context)
	defer cancel(nil)
	// The server says something every ten seconds.
	silence := time.AfterFunc(silenceTime, func() { cancel(errSilent) })
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if w.last != "" {
		header.Set("Last-Event-ID", w.last)
	}
	response, err := w.send(ctx, http.MethodGet, "/api/v1/events", w.query(), nil, header)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	err = readEvents(response.Body, func() { silence.Reset(silenceTime) }, w.take)
	if cause := context.Cause(ctx); cause != nil && w.Err() == nil {
		return cause
	}
	return err
}

func (w *watcher) query() url.Values {
	q := w.flags.scope.query()
	q.Set("types", strings.Join(w.flags.types, ","))
	return q
}

// take shows one event.
func (w *watcher) take(e event) error {
	if e.id != "" {
		w.last = e.id
	}
	switch e.name {
	case "hello": // what happens from here on is in the stream
		_, err := fmt.Fprintln(w.cmd.ErrOrStderr(), "watching", w.base.Redacted())
		return err
	case "resync":
		w.warn([]string{"events are missing here: " + e.data})
		return nil
	}
	if err := w.show(e); err != nil {
		return err
	}
	w.count++
	if w.count == w.flags.most {
		return errEnough
	}
	return nil
}

func (w *watcher) show(e event) error {
	if w.flags.format == formatJSON {
		line, err := json.Marshal(map[string]any{"id": e.id, "event": e.name, "data": json.RawMessage(e.data)})
		if err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		_, err = fmt.Fprintln(w.cmd.OutOrStdout(), string(line))
		return err
	}
	said, err := sayEvent(e)
	if err != nil {
		return err
	}
	l := newLines(w.cmd.OutOrStdout(), w.colours)
	l.add(append([]cell{{time.Now().Format(time.TimeOnly) + "  ", faint}}, said...)...)
	return l.err
}

// sayEvent says an event for people. An event of a type that this version does not know is shown as it came.
func sayEvent(e event) ([]cell, error) {
	var err error
	read := func(v any) { err = decode([]byte(e.data), v) }
	switch e.name {
	case "change":
		var c view.Change
		read(&c)
		return []cell{{"change    ", bold}, text(configRef("", c.Config).String()), text(" " + c.Type + " " + keysOf(c.Keys) + " by " + whoOf(c.Candidates)), {" " + c.ID, faint}}, err
	case "reload":
		var r view.Reload
		read(&r)
		cells := []cell{{"reload    ", bold}, text(workloadRef("", r.Workload).String() + " "), reasonCell(r.Outcome)}
		if r.Rollout != nil {
			cells = append(cells, text(", "), reasonCell(r.Rollout.Result))
		}
		return append(cells, text(" because of "+causesOf(r.Causes)+because(r.Message)), cell{" " + r.ID, faint}), err
	case "workload":
		var v view.Workload
		read(&v)
		return []cell{{"workload  ", bold}, text(workloadRef("", v.Workload).String() + " "), stateOf(v)}, err
	case "workloadGone":
		var v view.WorkloadGone
		read(&v)
		return []cell{{"gone      ", bold}, text(workloadRef("", v.Workload).String())}, err
	case "cluster":
		var c view.Cluster
		read(&c)
		return []cell{{"cluster   ", bold}, text(c.Name + " "), healthCell(c.Health), text(because(strings.Join(c.Problems, " ")))}, err
	}
	return []cell{{e.name + " ", bold}, text(e.data)}, nil
}
