package cli

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// workloadsFlags narrow the listing of workloads.
type workloadsFlags struct {
	question
	scope
	config, kind string
	held         bool
}

// workloadsCommand lists workloads, or tells all about one.
func workloadsCommand(version string) *cobra.Command {
	q := &workloadsFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "workloads [" + refForm + "]",
		Short: "List opted-in workloads: what they depend on, and what they wait for",
		Long:  "List opted-in workloads: what they depend on, and what they wait for; or tell all about one.\n" + shortForm,
		Example: "  reroll workloads -n shop\n  reroll workloads --held -o wide\n  reroll workloads --config secret/password -o name\n" +
			"  reroll workloads shop/deploy/cart",
		Args: AboutOne(cobra.MaximumNArgs(1)),
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
	f := cmd.Flags()
	f.StringVar(&q.config, "config", "", "only workloads that depend on this config, "+refForm+"; it may be elsewhere than they")
	f.StringVar(&q.kind, "kind", "", "only workloads of this kind")
	f.BoolVar(&q.held, "held", false, "only workloads that are held back")
	fixed(cmd, "kind", workloadKinds())
	q.live(cmd, "config", configNames)
	cmd.ValidArgsFunction = firstOnly(q.complete(workloadNames))
	return cmd
}

func (f *workloadsFlags) parameters() (url.Values, error) {
	q := f.scope.query()
	if f.kind != "" {
		kind, err := kindOf(f.kind, workloadKinds())
		if err != nil {
			return nil, err
		}
		q.Set("kind", kind)
	}
	return q, dependsOn(q, f.config)
}

func (f *workloadsFlags) list(s *session) error {
	parameters, err := f.parameters()
	if err != nil {
		return err
	}
	var l listing[view.Workload]
	p := newProgress(s.cmd.ErrOrStderr())
	err = s.nearby(parameters, func() (err error) {
		l, err = list[view.Workload](s, s.client, "/api/v1/workloads", parameters, 0, func(n int) { p.say("%d workloads so far", n) })
		return err
	})
	p.end()
	if err != nil {
		return err
	}
	if f.held {
		l = l.keep(func(w view.Workload) bool { return w.Hold != nil })
	}
	return printList(s, &f.output, l, workloadsShown(s.now, namesOf(l.items)))
}

// keep returns the items that are wanted.
func (l listing[T]) keep(want func(T) bool) listing[T] {
	kept := listing[T]{warnings: l.warnings}
	for i, item := range l.items {
		if want(item) {
			kept.items, kept.raw = append(kept.items, item), append(kept.raw, l.raw[i])
		}
	}
	return kept
}

// namesOf returns what names a workload among others: its cluster is left out if it is that of all.
func namesOf(workloads []view.Workload) func(view.Workload) string {
	several := slices.ContainsFunc(workloads, func(w view.Workload) bool { return w.Cluster != workloads[0].Cluster })
	return func(w view.Workload) string { return refAmong(several, w.Cluster, w.Workload).String() }
}

func workloadsShown(now time.Time, name func(view.Workload) string) shown[view.Workload] {
	return shown[view.Workload]{
		columns: []column{
			{name: "WORKLOAD"},
			{name: "STATE"},
			{name: "FOR"},
			{name: "CONFIGS"},
			{name: "ROLLOUT"},
			{name: "LAST RELOAD", wide: true},
			{name: "CLUSTER", wide: true},
			{name: "DIALECT", wide: true},
			{name: "STRATEGY", wide: true},
			{name: "DUE", wide: true},
			{name: "MESSAGE", wide: true},
			{name: "NEXT", wide: true},
		},
		name: name,
		none: "No such workload is opted in.",
		row: func(w view.Workload) []cell {
			age, due := dash, dash
			if w.Hold != nil {
				age, due = since(now, w.Hold.Since), exactly(w.Hold.Due)
			}
			return []cell{
				text(name(w)), verdictCell(w.Verdict), text(age), text(fmt.Sprint(len(w.Edges))), rolloutCell(w.Rollout), text(orDash(w.LastReload)),
				text(w.Cluster), text(w.Dialect), text(w.Strategy), text(due), text(w.Verdict.Message), text(orDash(w.Verdict.Next)),
			}
		},
	}
}

// verdictCell shows the state of v, with the reason where the state is about many.
func verdictCell(v verdict.Verdict) cell {
	if v.State == verdict.Held && v.Reason != "" {
		return cell{string(v.Reason), stateStyle(v.State)}
	}
	return cell{string(v.State), stateStyle(v.State)}
}

// stateStyle is that of a state.
func stateStyle(s verdict.State) style {
	switch of := verdict.State(s); {
	case of == verdict.UpToDate:
		return good
	case of.NeedsAttention():
		return bad
	case of == verdict.NoConfigs, of == verdict.NotADependency:
		return plain
	}
	return warn
}

// writeVerdict begins an answer: the state, one sentence, and the next command.
func writeVerdict(l *lines, v verdict.Verdict) {
	parts := []cell{{string(v.State), stateStyle(v.State)}, text(": " + v.Message)}
	if v.Next != "" {
		parts = append(parts, text(" Next: "), cell{v.Next, bold})
	}
	l.add(parts...)
}

func (f *workloadsFlags) one(s *session, name string) error {
	r, err := s.find(name, f.scope)
	if err != nil {
		return err
	}
	var w view.Workload
	body, err := s.read(s, path("workloads", r.cluster, r.namespace, r.kind, r.name), nil, &w)
	if err != nil {
		return err
	}
	return printOne(s, &f.output, body, r.String(), func(l *lines) { writeWorkload(l, w, s.now) })
}

func writeWorkload(l *lines, w view.Workload, now time.Time) {
	writeVerdict(l, w.Verdict)
	l.add(cell{workloadRef(w.Cluster, w.Workload).String(), bold})
	if w.Hold != nil {
		l.field("Waits", since(now, w.Hold.Since)+because(w.Hold.Message))
		l.field("Due", exactly(w.Hold.Due))
	}
	l.field("Dialect", w.Dialect)
	l.field("Strategy", w.Strategy)
	l.field("Last reload", w.LastReload)
	for _, problem := range w.Problems {
		l.field("Problem", problem)
	}
	for _, d := range w.Edges {
		line := string(d.Config.Kind) + "/" + d.Config.Name + ", " + string(d.Why)
		if d.Clause != "" {
			line += " by " + d.Clause
		}
		for _, u := range d.Uses {
			line += ", " + sayUse(u)
		}
		if d.Pending != "" {
			line += ", waits for " + d.Pending
		}
		l.field("Depends on", line)
	}
}

func sayUse(u reloader.Use) string {
	said := "as " + u.How
	if u.Container != "" {
		said += " of " + u.Container
	}
	if len(u.Keys) > 0 {
		said += fmt.Sprint(" ", u.Keys)
	}
	return said
}
