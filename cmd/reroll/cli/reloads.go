package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// reloadsFlags narrow the listing of reloads.
type reloadsFlags struct {
	question
	scope
	recent
	workload, config, change, outcome string
}

// reloadsCommand lists reloads, or tells all about one.
func reloadsCommand(version string) *cobra.Command {
	q := &reloadsFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "reloads [ID]",
		Short: "List reloads of workloads, newest first: what rolled, what did not, and why",
		Example: "  reroll reloads -n shop --since 24h\n  reroll reloads --workload deploy/cart --config cm/settings\n" +
			"  reroll reloads --change c-mfrggzdfmztwq2lk -o wide\n  reroll reloads r-mfrggzdfmztwq2lk",
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
	f := cmd.Flags()
	f.StringVar(&q.workload, "workload", "", "only reloads of this workload, "+refForm)
	f.StringVar(&q.config, "config", "", "only reloads that this config caused, "+refForm)
	f.StringVar(&q.change, "change", "", "only reloads that the change of this ID caused")
	f.StringVar(&q.outcome, "outcome", "", "only reloads with this outcome")
	q.live(cmd, "workload", workloadNames)
	q.live(cmd, "config", configNames)
	q.live(cmd, "change", changeIDs)
	fixed(cmd, "outcome", outcomeNames())
	cmd.ValidArgsFunction = firstOnly(q.complete(reloadIDs))
	return cmd
}

func (f *reloadsFlags) parameters(now time.Time) (url.Values, error) {
	q := f.scope.query()
	if f.workload != "" {
		r, err := parseRef(f.workload, workloadKinds())
		if err != nil {
			return nil, err
		}
		if r, err = r.within(f.scope); err != nil {
			return nil, err
		}
		set(q, "cluster", r.cluster)
		set(q, "namespace", r.namespace)
		q.Set("kind", r.kind)
		q.Set("name", r.name)
	}
	if err := dependsOn(q, f.config); err != nil {
		return nil, err
	}
	if f.outcome != "" && !slices.Contains(outcomeNames(), f.outcome) {
		return nil, Usage(fmt.Errorf("--outcome: %q is not one of %s", f.outcome, strings.Join(outcomeNames(), ", ")))
	}
	set(q, "outcome", f.outcome)
	set(q, "change", f.change)
	return q, f.recent.query(q, now)
}

// dependsOn sets what narrows a listing to a config, which may be elsewhere than those that depend on it.
func dependsOn(q url.Values, config string) error {
	if config == "" {
		return nil
	}
	r, err := parseRef(config, configKinds())
	if err != nil {
		return err
	}
	set(q, "configCluster", r.cluster)
	set(q, "configNamespace", r.namespace)
	q.Set("configKind", r.kind)
	q.Set("configName", r.name)
	return nil
}

// nearby asks about who depends on a config. Who may not ask about every namespace, and has named none, gets what there is in that of the config.
func (s *session) nearby(q url.Values, ask func() error) error {
	err := ask()
	var refused *refusal
	own := q.Get("configNamespace")
	if own == "" || q.Get("namespace") != "" || !errors.As(err, &refused) || refused.status != http.StatusForbidden {
		return err
	}
	q.Set("namespace", own)
	if err = ask(); err == nil {
		s.warn([]string{"you may not ask about every namespace: workloads of others than " + own + " are missing"})
	}
	return err
}

func (f *reloadsFlags) list(s *session) error {
	parameters, err := f.parameters(s.now)
	if err != nil {
		return err
	}
	var l listing[view.Reload]
	err = s.nearby(parameters, func() (err error) {
		l, err = counting[view.Reload](s, "reloads", parameters, f.most)
		return err
	})
	if err != nil {
		return err
	}
	among := f.tabular() && several(s, l.items, func(r view.Reload) string { return r.Cluster })
	return printList(s, &f.output, l, shown[view.Reload]{
		columns: []column{
			{name: "AGE"},
			{name: "CLUSTER", wide: !among},
			{name: "WORKLOAD"},
			{name: "OUTCOME"},
			{name: "ROLLOUT"},
			{name: "BECAUSE OF"},
			{name: "WHO"},
			{name: "LATENCY"},
			{name: "ID", wide: true},
			{name: "DECIDED", wide: true},
			{name: "STRATEGY", wide: true},
			{name: "MESSAGE", wide: true},
		},
		name: func(r view.Reload) string { return r.ID },
		none: "No such reload is on record.",
		row: func(r view.Reload) []cell {
			return []cell{
				text(since(s.now, r.DecidedAt)), text(r.Cluster), text(workloadRef("", r.Workload).String()), reasonCell(r.Outcome), rolloutCell(r.Rollout), text(causesOf(r)),
				text(whoOfReload(r)), text(seconds(r.LatencySeconds)), text(r.ID), text(exactly(r.DecidedAt)), text(orDash(r.Strategy)), text(orDash(r.Message)),
			}
		},
	})
}

func (f *reloadsFlags) one(s *session, id string) error {
	var r view.Reload
	body, err := s.read(s, path("reloads", id), nil, &r)
	if err != nil {
		return err
	}
	return printOne(s, &f.output, body, r.ID, func(l *lines) {
		l.field("Reload", r.ID)
		l.field("Cluster", r.Cluster)
		l.field("Workload", workloadRef("", r.Workload).String())
		l.add(cell{fmt.Sprintf("%-12s ", "Outcome:"), faint}, reasonCell(r.Outcome), text(because(r.Message)))
		for _, c := range r.Causes {
			l.field("Because of", configRef("", c.Config).String()+" ("+c.ChangeID+"): "+keysOf(c.Keys)+" by "+whoOf(c.Candidates))
		}
		l.field("Strategy", r.Strategy)
		l.field("Decided", exactly(r.DecidedAt))
		l.field("Patched", exactly(r.PatchedAt))
		l.field("Latency", seconds(r.LatencySeconds))
		if r.Rollout != nil {
			l.add(cell{fmt.Sprintf("%-12s ", "Rollout:"), faint}, reasonCell(r.Rollout.Result), text(because(r.Rollout.Message)))
		}
	})
}

// reasonStyles are those of reasons that are good or bad news; others are neither.
var reasonStyles = map[reloader.Reason]style{
	reloader.ReasonReloaded: good, reloader.ReasonRolledOut: good, reloader.ReasonRefused: bad, reloader.ReasonInvalid: bad,
	reloader.ReasonFailing: bad, reloader.ReasonStalled: bad, reloader.ReasonHalted: bad, reloader.ReasonRetrying: warn,
}

func reasonCell(r reloader.Reason) cell { return cell{string(r), reasonStyles[reloader.Reason(r)]} }

func rolloutCell(r *reloader.Rollout) cell {
	if r == nil {
		return text(dash)
	}
	return reasonCell(r.Result)
}

// causesOf names each config behind a reload once, with all its keys that changed.
func causesOf(r view.Reload) string {
	var names []string
	keys := map[string][]string{}
	for _, c := range r.Causes {
		name := nearName(c.Config, r.Workload)
		if _, known := keys[name]; !known {
			names = append(names, name)
		}
		keys[name] = union(keys[name], signedKeys(c.Keys))
	}
	for i, name := range names {
		if len(keys[name]) > 0 {
			names[i] += " [" + strings.Join(keys[name], ",") + "]"
		}
	}
	return orDash(strings.Join(names, ","))
}

// whoOfReload names who changed what a reload is for, or says with which words it was requested.
func whoOfReload(r view.Reload) string {
	if r.Requested != "" {
		return "requested: " + r.Requested
	}
	return whoCaused(r.Causes)
}

func whoCaused(causes []reloader.Cause) string {
	var names []string
	for _, c := range causes {
		if who := whoOf(c.Candidates); who != dash && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	return orDash(strings.Join(names, "; "))
}
