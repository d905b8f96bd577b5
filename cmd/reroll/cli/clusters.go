package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// clustersCommand lists clusters, or tells all about one.
func clustersCommand(version string) *cobra.Command {
	q := &question{version: version}
	var health string
	cmd := &cobra.Command{
		Use:   "clusters [NAME]",
		Short: "List clusters: whether they are well, where hints come from, and what waits",
		Example: "  reroll clusters -o wide\n  reroll clusters local\n" +
			"  reroll clusters -o jsonpath='{range .items[*]}{.name} {.health}{\"\\n\"}{end}'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := q.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return q.oneCluster(s, args[0])
			}
			parameters := scopeOf(cmd)
			set(parameters, "health", health)
			l, err := list[view.Cluster](s, s.client, "/api/v1/clusters", parameters, 0, silently)
			if err != nil {
				return err
			}
			return printList(s, &q.output, l, clustersShown(s.now))
		},
	}
	q.bind(cmd, allFormats...)
	cmd.Flags().StringVar(&health, "health", "", "only clusters that are Healthy, Degraded, Away or Unknown")
	fixed(cmd, "health", []string{"Healthy", "Degraded", "Away", "Unknown"})
	cmd.ValidArgsFunction = firstOnly(q.complete(clusterNames))
	return cmd
}

func clustersShown(now time.Time) shown[view.Cluster] {
	return shown[view.Cluster]{
		columns: []column{
			{name: "NAME"},
			{name: "HEALTH"},
			{name: "WORKLOADS"},
			{name: "PENDING"},
			{name: "HELD"},
			{name: "LAG"},
			{name: "LAST CHANGE"},
			{name: "LAST RELOAD"},
			{name: "SOURCES", wide: true},
			{name: "DRIFT", wide: true},
			{name: "VERSION", wide: true},
			{name: "INSTANCE", wide: true},
		},
		name: func(c view.Cluster) string { return c.Cluster },
		none: "No cluster is on record.",
		row: func(c view.Cluster) []cell {
			var sources []string
			for _, source := range c.Sources {
				sources = append(sources, string(source.Source))
			}
			return []cell{
				text(c.Cluster), healthCell(c.Health), text(fmt.Sprint(c.Workloads)), text(fmt.Sprint(c.Pending)), text(fmt.Sprint(heldIn(c))), text(lagOf(c)),
				text(since(now, c.LastChangeAt)), text(since(now, c.LastReloadAt)),
				text(orDash(strings.Join(sources, ","))), text(fmt.Sprint(c.Drift)), text(orDash(c.Version)), text(orDash(c.Instance)),
			}
		},
	}
}

func healthCell(h verdict.Health) cell {
	styles := map[verdict.Health]style{verdict.Healthy: good, verdict.Degraded: warn, verdict.Away: bad, verdict.Unknown: bad}
	return cell{string(h), styles[h]}
}

// lagOf returns how old the oldest change is that is on its way to a workload.
func lagOf(c view.Cluster) string {
	lag := c.Lag().Seconds()
	if lag == 0 {
		return dash
	}
	return seconds(&lag)
}

func heldIn(c view.Cluster) (n int) {
	for _, held := range c.Held {
		n += held
	}
	return n
}

func (q *question) oneCluster(s *session, name string) error {
	c, body, err := s.cluster(name)
	if err != nil {
		return err
	}
	return printOne(s, &q.output, body, c.Cluster, func(l *lines) { writeCluster(l, c, s.now) })
}

// cluster asks for one cluster, and returns it also as it was answered.
func (s *session) cluster(name string) (c view.Cluster, body []byte, err error) {
	l, err := list[view.Cluster](s, s.client, "/api/v1/clusters", url.Values{"name": {name}}, 0, silently)
	if err != nil {
		return c, nil, err
	}
	if len(l.items) == 0 {
		return c, nil, fmt.Errorf("the server knows no cluster %s", quote(name))
	}
	body, err = json.Marshal(l.items[0])
	return l.items[0], body, err
}

// writeCluster tells all about a cluster that is worth telling.
func writeCluster(l *lines, c view.Cluster, now time.Time) {
	health := healthCell(c.Health)
	health.style += bold
	l.add(cell{c.Cluster, bold}, text("  "), health)
	writeBrakes(l, c)
	for _, w := range c.Windows {
		if w.Open {
			l.addf("  Window %s: open", w.Schedule)
		}
	}
	l.addf("  %s, %d pending, %d held%s", count(c.Workloads, "workload"), c.Pending, heldIn(c), reasonsOf(c.Held))
	if c.Lag() > 0 || c.HintsPending > 0 {
		l.addf("  lag %s, %s not done", lagOf(c), count(int(c.HintsPending), "hint"))
	}
	l.addf("  last change %s, last reload %s, swept %s, drift %d", ago(now, c.LastChangeAt), ago(now, c.LastReloadAt), ago(now, c.SweptAt), c.Drift)
	if c.Attribution != "" {
		l.add(text("  " + c.Attribution))
	}
	if c.Storage != "" {
		l.add(text("  " + c.Storage))
	}
	for _, source := range c.Sources {
		l.addf("  %s: %s, the last %s", source.Source, count(int(source.Hints), "hint"), ago(now, source.LastAt))
	}
	for _, feed := range c.Feeds {
		l.addf("  audit feed of %s: %s", feed.Address, feed.State)
	}
	writeForward(l, c.Forward, now)
}

// writeBrakes tells what is wrong with a cluster, and what holds its reloads back.
func writeBrakes(l *lines, c view.Cluster) {
	for _, problem := range c.Problems {
		l.add(cell{"  ! ", warn}, text(problem.Message))
	}
	if c.DryRun {
		l.add(text("  This is a dry run: nothing is written to the cluster."))
	}
	if c.Freeze.Frozen {
		from := ""
		if !c.Freeze.Since.IsZero() {
			from = " since " + exactly(c.Freeze.Since)
		}
		l.add(cell{"  Frozen", bad}, text(from+by(c.Freeze.By)+until(c.Freeze.Until)+because(c.Freeze.Reason)))
	}
	for _, p := range c.Pauses {
		l.add(cell{"  Paused ", warn}, text(whom(p)+by(p.By)+until(p.Until)+because(p.Reason)))
	}
	for _, w := range c.Windows {
		if !w.Open {
			l.addf("  Window %s: closed, %s", w.Schedule, opens(w.Next))
		}
	}
}

// opens says when a window opens.
func opens(next time.Time) string {
	if next.IsZero() {
		return "never opens"
	}
	return "opens " + exactly(next)
}

// writeForward tells how far the records of a cluster have come to the hub that was asked; nothing if that is no hub.
func writeForward(l *lines, positions []reloader.Position, now time.Time) {
	var behind uint64
	var at time.Time
	for _, p := range positions {
		if behind += p.Behind; p.At.After(at) {
			at = p.At
		}
	}
	if positions != nil {
		l.addf("  forwarding to this hub: %s to come, told %s", count(int(min(behind, math.MaxInt64)), "record"), ago(now, at))
	}
}

func whom(p reloader.Pause) string {
	where, which := "everywhere", "all workloads"
	if p.Namespace != "" {
		where = "in " + p.Namespace
	}
	if p.Selector != "" {
		which = p.Selector
	}
	return which + " " + where
}

func by(user string) string {
	if user == "" {
		return ""
	}
	return " by " + user
}

func until(t time.Time) string {
	if t.IsZero() {
		return " until it is thawed"
	}
	return " until " + exactly(t)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func reasonsOf(held map[reloader.Reason]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(held)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, held[reason]))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// firstOnly completes the first argument and no further one.
func firstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}
