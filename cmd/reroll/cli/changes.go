package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// recent narrows a listing of what happened: the newest first, most of them, since a while ago.
type recent struct {
	most int
	span time.Duration
}

func (r *recent) bind(cmd *cobra.Command) {
	cmd.Flags().IntVar(&r.most, "limit", 50, "how many at most, the newest; 0 is all")
	cmd.Flags().DurationVar(&r.span, "since", 0, "only what happened in this time, such as 2h; 0 is any time")
}

func (r *recent) query(q url.Values, now time.Time) error {
	if r.most < 0 || r.span < 0 {
		return Usage(fmt.Errorf("--limit and --since must not be negative"))
	}
	if r.span > 0 {
		q.Set("since", now.Add(-r.span).UTC().Format(time.RFC3339))
	}
	return nil
}

// changesFlags narrow the listing of changes.
type changesFlags struct {
	question
	scope
	recent
	config, kind string
	baselines    bool
}

// changesCommand lists changes, or tells all about one.
func changesCommand(version string) *cobra.Command {
	q := &changesFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "changes [ID]",
		Short: "List changes of configs, newest first: who changed what",
		Example: "  reroll changes -n shop --since 24h\n  reroll changes --config cm/settings -o wide\n  reroll changes c-mfrggzdfmztwq2lk\n" +
			"  reroll changes --limit 0 -o jsonpath='{.items[*].id}'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := q.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return q.one(s, args[0])
			}
			return q.list(s)
		},
	}
	q.question.bind(cmd, allFormats...)
	q.scope.bindAll(cmd, &q.question)
	q.recent.bind(cmd)
	cmd.Flags().StringVar(&q.config, "config", "", "only changes of this config, "+refForm)
	cmd.Flags().StringVar(&q.kind, "kind", "", "only changes of configs of this kind")
	cmd.Flags().BoolVar(&q.baselines, "baselines", false, "also show baselines, the first sight of each config")
	cmd.MarkFlagsMutuallyExclusive("config", "kind")
	fixed(cmd, "kind", configKinds())
	q.live(cmd, "config", configNames)
	cmd.ValidArgsFunction = firstOnly(q.complete(changeIDs))
	return cmd
}

func (f *changesFlags) parameters(now time.Time) (url.Values, error) {
	q := f.scope.query()
	if f.config != "" {
		r, err := parseRef(f.config, configKinds())
		if err != nil {
			return nil, err
		}
		if r, err = r.within(f.scope); err != nil {
			return nil, err
		}
		set(q, "namespace", r.namespace)
		set(q, "cluster", r.cluster)
		q.Set("configKind", r.kind)
		q.Set("name", r.name)
	}
	if f.kind != "" {
		kind, err := kindOf(f.kind, configKinds())
		if err != nil {
			return nil, err
		}
		q.Set("configKind", kind)
	}
	if f.baselines {
		q.Set("includeBaselines", "true")
	}
	return q, f.recent.query(q, now)
}

func (f *changesFlags) list(s *session) error {
	parameters, err := f.parameters(s.now)
	if err != nil {
		return err
	}
	l, err := counting[view.ChangeRow](s, "changes", parameters, f.most)
	if err != nil {
		return err
	}
	among := several(s, l.items, func(r view.ChangeRow) string { return r.Cluster })
	return printList(s, &f.output, l, changesShown(s.now, among))
}

// counting reads most items of a listing, and tells on a terminal how many of what there are so far.
func counting[T any](s *session, what string, parameters url.Values, most int) (l listing[T], err error) {
	p := newProgress(s.cmd.ErrOrStderr())
	defer p.end()
	return list[T](s, s.client, "/api/v1/"+what, parameters, most, func(n int) { p.say("%d %s so far", n, what) })
}

// changesShown is a table of changes, with what came of each. Clusters are named if there are several.
func changesShown(now time.Time, several bool) shown[view.ChangeRow] {
	return shown[view.ChangeRow]{
		columns: []column{
			{name: "AGE"},
			{name: "CLUSTER", wide: !several},
			{name: "CONFIG"},
			{name: "TYPE"},
			{name: "KEYS"},
			{name: "WHO"},
			{name: "ROLLED"},
			{name: "SOURCE", wide: true},
			{name: "ID", wide: true},
			{name: "VERIFIED", wide: true},
			{name: "LATENCY", wide: true},
			{name: "CLIENT", wide: true},
		},
		name: func(r view.ChangeRow) string { return r.Change.ID },
		none: "No such change is on record.",
		row: func(r view.ChangeRow) []cell {
			c := r.Change
			return []cell{
				text(since(now, c.VerifiedAt)), text(c.Cluster), text(configRef("", c.Config).String()), text(string(c.Type)), text(keysOf(c.Keys)), text(whoOf(c.Candidates)),
				rolledCell(r), text(string(c.Source)), text(c.ID), text(exactly(c.VerifiedAt)), text(verifiedAfter(c)), text(clientOf(c.Candidates)),
			}
		},
	}
}

// What became of a workload for a change, in the order in which it is told.
const (
	rolled  = "rolled"
	stalled = "stalled"
	refused = "failed"
	heldOff = "held"
	waiting = "waiting"
	current = "not needed"
)

// rolledCell counts the workloads that a change reached, each once, by what became of it.
func rolledCell(r view.ChangeRow) cell {
	became := map[ref]string{}
	for _, reload := range r.Reloads {
		became[workloadRef(reload.Cluster, reload.Workload)] = becameOf(reload)
	}
	for _, p := range r.Pending {
		became[workloadRef(p.Cluster, p.Workload)] = waiting
		if p.Hold != nil {
			became[workloadRef(p.Cluster, p.Workload)] = heldOff
		}
	}
	counts := map[string]int{}
	for _, what := range became {
		counts[what]++
	}
	var parts []string
	for _, what := range []string{rolled, stalled, refused, heldOff, waiting, current} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
		}
	}
	c := text(orDash(strings.Join(parts, ", ")))
	switch {
	case counts[stalled]+counts[refused] > 0:
		c.style = bad
	case counts[heldOff]+counts[waiting] > 0:
		c.style = warn
	}
	return c
}

func becameOf(r view.Reload) string {
	switch outcome := r.Outcome; {
	case outcome == reloader.ReasonReloaded && r.Rollout != nil && r.Rollout.Result == reloader.ReasonStalled:
		return stalled
	case outcome == reloader.ReasonReloaded:
		return rolled
	case slices.Contains(reloader.DeadLetterReasons, outcome):
		return refused
	}
	return current
}

func (f *changesFlags) one(s *session, id string) error {
	var c view.ChangeRow
	body, err := s.read(s, path("changes", id), nil, &c)
	if err != nil {
		return err
	}
	return printOne(s, &f.output, body, c.ID, func(l *lines) {
		l.field("Change", c.ID)
		l.field("Cluster", c.Cluster)
		l.field("Config", configRef("", c.Config).String())
		l.field("Type", string(c.Type))
		l.field("Keys", keysOf(c.Keys))
		for _, who := range c.Candidates {
			l.field("Who", sayCandidate(who))
		}
		l.field("Source", string(c.Source))
		l.field("Requested", exactly(c.RequestedAt))
		l.field("Verified", exactly(c.VerifiedAt))
		l.field("Latency", verifiedAfter(c.Change))
		l.field("Digest", orDash(c.Old.Short())+" → "+orDash(c.New.Short()))
		l.field("Rolled", rolledCell(c).text)
	})
}

// sayCandidate says who may have made a change, and why we think so.
func sayCandidate(c reloader.Candidate) string {
	said := c.Name()
	if c.UserAgent != "" {
		said += " with " + c.UserAgent
	}
	if c.SourceIP != "" {
		said += " from " + c.SourceIP
	}
	return said + ", " + string(c.Verb) + " (" + string(c.Basis) + ")"
}

// verifiedAfter returns how long it took from the request to the look that found the change.
func verifiedAfter(c reloader.Change) string {
	if c.RequestedAt.IsZero() {
		return dash
	}
	took := c.VerifiedAt.Sub(c.RequestedAt).Seconds()
	return seconds(&took)
}

func keysOf(keys []reloader.KeyChange) string { return orDash(strings.Join(signedKeys(keys), ",")) }

// signedKeys names keys, with what happened to those that were not just changed.
func signedKeys(keys []reloader.KeyChange) (names []string) {
	signs := map[reloader.KeyOp]string{reloader.KeyAdded: "+", reloader.KeyRemoved: "-"}
	for _, k := range keys {
		names = append(names, signs[k.Op]+k.Key)
	}
	return names
}

// whoOf names the candidates: with several, no single one is asserted.
func whoOf(candidates []reloader.Candidate) string {
	var names []string
	for _, c := range candidates {
		names = append(names, c.Name())
	}
	switch {
	case len(names) > 1:
		return "one of " + strings.Join(names, ", ")
	case len(names) == 1 && candidates[0].Basis == reloader.BasisAmbiguous:
		return "perhaps " + names[0]
	}
	return orDash(strings.Join(names, ""))
}

func clientOf(candidates []reloader.Candidate) string {
	if len(candidates) != 1 {
		return dash
	}
	return orDash(candidates[0].UserAgent)
}
