package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
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
			"event: its id, its type as event, and as data what the listings have; -o yaml has the same as documents, and a jsonpath is of each. -o wide\n" +
			"has the date, the cluster and more of each event, -o name the IDs of changes and reloads, and the names of workloads and clusters. As soon as\n" +
			"nothing can be missed any more, standard error says watching.",
		Example: "  reroll watch -n shop\n  reroll watch --types change,reload -o json | jq -r .data.id\n  reroll watch --types reload -n shop --count 1 --for 5m",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}
	q.question.bindPlain(cmd, allFormats...)
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
	w := &watcher{session: s, flags: f, clusters: map[string]bool{}}
	if f.form() == formatTable || f.form() == formatName {
		w.learnClusters()
	}
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
	flags *watchFlags
	// clusters are those that are known, and unsure says that there may be others: what an event is about is named with its cluster, unless
	// there is only one.
	clusters map[string]bool
	unsure   bool
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

func (w *watcher) query() url.Values { return w.flags.scope.query() }

// take shows one event.
func (w *watcher) take(e event) error {
	if e.id != "" {
		w.last = e.id
	}
	switch e.name {
	case "hello": // what happens from here on is in the stream
		if w.unsure {
			w.learnClusters()
		}
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

// learnClusters asks which clusters there are.
func (w *watcher) learnClusters() {
	if w.flags.cluster != "" {
		w.clusters[w.flags.cluster] = true
		return
	}
	clusters, err := list[view.Cluster](w, w.client, "/api/v1/clusters", nil, 0, silently)
	w.unsure = err != nil // who may not list them sees their events all the same
	for _, c := range clusters.items {
		w.clusters[c.Cluster] = true
	}
}

// show prints an event.
func (w *watcher) show(e event) error {
	out := w.cmd.OutOrStdout()
	switch w.flags.form() {
	case formatTable, formatWide, formatName:
		said, err := w.say(e)
		if err != nil {
			return err
		}
		return w.flags.print(out, answer{names: []string{said.name}, show: said.write})
	}
	body, err := json.Marshal(map[string]any{"id": e.id, "event": e.name, "data": json.RawMessage(e.data)})
	if err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	switch w.flags.form() {
	case formatJSON: // a line for each
		_, err = fmt.Fprintln(out, string(body))
		return err
	case formatYAML: // a document for each
		if _, err = fmt.Fprintln(out, "---"); err != nil {
			return err
		}
	}
	return w.flags.print(out, answer{body: body})
}

// saying is an event as it is said to people, more of it for those who want that, and what other commands call what it is about.
type saying struct {
	cells []cell
	more  []string
	name  string
}

func (s saying) write(w io.Writer, wide, _, colours bool) error {
	now, cells := time.Now().Format(time.TimeOnly), s.cells
	if wide {
		now, cells = exactly(time.Now()), append(cells, cell{" " + strings.Join(s.more, ", "), faint})
	}
	l := newLines(w, colours)
	l.add(append([]cell{{now + "  ", faint}}, cells...)...)
	return l.err
}

// place returns the cluster if what an event is about is to be named with it.
func (w *watcher) place(cluster string) string {
	w.clusters[cluster] = true
	if w.unsure || len(w.clusters) > 1 || w.flags.form() == formatWide {
		return cluster
	}
	return ""
}

// say says an event. One of a type that this version does not know is shown as it came.
func (w *watcher) say(e event) (said saying, err error) {
	read := func(v any) { err = decode([]byte(e.data), v) }
	switch e.name {
	case "change":
		var c reloader.Change
		read(&c)
		said = w.sayChange(c)
	case "reload":
		var r view.Reload
		read(&r)
		said = w.sayReload(r)
	case "workload":
		var v view.Workload
		read(&v)
		said = saying{name: workloadRef(w.place(v.Cluster), v.Workload).String(), more: []string{v.Dialect, v.Strategy, "last reload " + orDash(v.LastReload)}}
		said.cells = []cell{{"workload  ", bold}, text(said.name + " "), verdictCell(v.Verdict), text(" " + v.Verdict.Message)}
	case "workloadGone":
		var v struct {
			Cluster  string               `json:"cluster"`
			Workload reloader.WorkloadRef `json:"workload"`
		}
		read(&v)
		said = saying{name: workloadRef(w.place(v.Cluster), v.Workload).String()}
		said.cells = []cell{{"gone      ", bold}, text(said.name)}
	case "cluster":
		var c view.Cluster
		read(&c)
		var problems []string
		for _, p := range c.Problems {
			problems = append(problems, p.Message)
		}
		said = saying{name: c.Cluster, more: []string{orDash(c.Version), orDash(c.Instance), count(c.Workloads, "workload"), fmt.Sprintf("%d pending", c.Pending)}}
		said.cells = []cell{{"cluster   ", bold}, text(c.Cluster + " "), healthCell(c.Health), text(because(strings.Join(problems, " ")))}
	default:
		said = saying{name: e.id, cells: []cell{{e.name + " ", bold}, text(e.data)}}
	}
	return said, err
}

func (w *watcher) sayChange(c reloader.Change) saying {
	return saying{name: c.ID, more: []string{string(c.Source), "verified " + exactly(c.VerifiedAt), "after " + verifiedAfter(c)}, cells: []cell{
		{"change    ", bold},
		text(configRef(w.place(c.Cluster), c.Config).String()),
		text(" " + string(c.Type) + " " + keysOf(c.Keys) + " by " + whoOf(c.Candidates)),
		{" " + c.ID, faint},
	}}
}

func (w *watcher) sayReload(r view.Reload) saying {
	cells := []cell{{"reload    ", bold}, text(workloadRef(w.place(r.Cluster), r.Workload).String() + " "), reasonCell(r.Outcome)}
	if r.Rollout != nil {
		cells = append(cells, text(", "), reasonCell(r.Rollout.Result))
	}
	cells = append(cells, text(" because of "+causesOf(r)+because(r.Message)), cell{" " + r.ID, faint})
	return saying{name: r.ID, more: []string{orDash(r.Strategy), "decided " + exactly(r.DecidedAt), "after " + seconds(r.LatencySeconds), "changed by " + whoCaused(r.Causes)}, cells: cells}
}
