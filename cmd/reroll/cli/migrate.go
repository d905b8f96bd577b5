package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

type migrateFlags struct {
	*globals
	settings config.Flags
}

func migrateCommand(g *globals) *cobra.Command {
	q := &migrateFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "migrate",
		Short: "Report what other reloaders left on workloads, and what Reroll will do",
		Long: "Report what other reloaders left on workloads: annotations and marks, mistakes, and whether the\nfirst start of Reroll rolls a workload " +
			"once, because it missed a change. It reads with your\nkubeconfig, needs no Reroll in the cluster, writes nothing and shows no content.\n" +
			"--config has the settings that Reroll will have. It exits with 1 if something needs attention or\ncould not be read.",
		Example: "  reroll migrate\n  reroll migrate --config reroll.yaml\n  reroll migrate -o jsonpath='{.items[?(@.rolls==true)].workload}'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}, takesCluster, takesScope, "output")
	q.settings.BindFile(cmd.Flags())
	return cmd
}

func (q *migrateFlags) view() (adoption.View, error) {
	c, err := q.settings.Read()
	return adoption.View{All: c.AllDialects(), Dialects: c.Dialects(), Strategy: c.Reload.Strategy, Creations: c.Reload.OnCreate, Now: time.Now()}, Usage(err)
}

func (q *migrateFlags) run(cmd *cobra.Command) error {
	v, err := q.view()
	if err != nil {
		return err
	}
	scope := kube.Scope{Rollouts: true}
	if q.namespace != "" {
		scope.Namespaces = []string{q.namespace}
	}
	cluster, err := q.connect(cmd.Context(), adoption.Keeps(v.All), scope)
	if err != nil {
		return err
	}
	c := newCensus(cluster, v)
	if err := c.take(cmd.Context()); err != nil {
		return err
	}
	warn(cmd, c.warnings)
	if len(c.reports) == 0 && q.tabular() {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "No workload has annotations or marks of another reloader.")
	} else if err := q.print(cmd, c.answer()); err != nil {
		return err
	}
	if sum := c.summary(); sum.Rolls+sum.Conflicts+sum.Typos+sum.Leftovers+sum.Unknown+len(c.warnings) > 0 {
		return errAnswer
	}
	return nil
}

type reader interface {
	// Workloads calls visit once for every workload, and returns the resources that may not be listed.
	Workloads(ctx context.Context, visit func(*workload.Workload) error) (hidden []string, err error)
	// Meta reads the metadata of a config, Get all of it, and List the metadata of all of a kind and namespace.
	Meta(ctx context.Context, c reloader.Config) (live.Meta, error)
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
	List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error)
	Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error)
}

// census reports what other tools have left on the workloads of a cluster. It keeps the contents of the configs of one workload at a time.
type census struct {
	reader
	adoption.View
	// namespace is the one whose configs are listed, by kind; a kind that may not be listed is not there.
	namespace string
	listed    map[reloader.ConfigKind]map[reloader.Config]live.Meta

	reports  []adoption.Report
	warnings []string
}

func newCensus(r reader, v adoption.View) *census {
	return &census{reader: r, View: v, reports: []adoption.Report{}, warnings: []string{}}
}

// take inspects every workload that a tool has touched.
func (c *census) take(ctx context.Context) error {
	var touched []*workload.Workload
	hidden, err := c.Workloads(ctx, func(w *workload.Workload) error {
		if c.Touched(w) {
			touched = append(touched, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, resource := range hidden {
		c.warnings = append(c.warnings, "you have no permission to list "+resource+", so they are left out")
	}
	slices.SortFunc(touched, func(a, b *workload.Workload) int { return compareRefs(a.Ref(), b.Ref()) })
	for _, w := range touched {
		if w.Namespace != c.namespace || c.listed == nil {
			if err := c.list(ctx, w.Namespace); err != nil {
				return err
			}
		}
		report, err := c.inspect(ctx, w)
		if err != nil {
			return err
		}
		c.reports = append(c.reports, report)
	}
	return nil
}

func (c *census) inspect(ctx context.Context, w *workload.Workload) (adoption.Report, error) {
	in := adoption.Input{
		Workload: w, Configs: map[reloader.Config]adoption.Known{}, Names: adoption.Names{},
		Pods: func() (workload.Pods, error) { return c.Pods(ctx, w) },
	}
	for kind, metas := range c.listed {
		for config := range metas {
			in.Names[kind] = append(in.Names[kind], config.Name)
		}
		slices.Sort(in.Names[kind])
	}
	configs, contents := c.Wants(w, in.Names)
	for _, config := range configs {
		in.Configs[config] = c.read(ctx, config, contents)
	}
	if err := ctx.Err(); err != nil {
		return adoption.Report{}, err
	}
	return c.Report(in)
}

// list lists the configs of a namespace, as far as that is permitted.
func (c *census) list(ctx context.Context, namespace string) error {
	c.namespace, c.listed = namespace, map[reloader.ConfigKind]map[reloader.Config]live.Meta{}
	for _, kind := range reloader.ConfigKinds {
		metas, err := c.List(ctx, kind, namespace)
		switch {
		case err == nil:
			c.listed[kind] = metas
		case !apierrors.IsForbidden(err):
			return fmt.Errorf("list %ss of %s: %w", kind, namespace, err)
		case kind.Info().Group == "": // most clusters lack the other kinds, and answer so only to those who may list it
			c.warnings = append(c.warnings, fmt.Sprintf("you have no permission to list %ss of %s, so patterns for them were not evaluated", kind, namespace))
		}
	}
	return nil
}

func (c *census) read(ctx context.Context, config reloader.Config, content bool) (k adoption.Known) {
	var err error
	metas, listed := c.listed[config.Kind]
	switch {
	case content:
		var obj live.Object
		obj, err = c.Get(ctx, config)
		k.Meta, k.Content = obj.Meta, obj.Content
	case listed && config.Namespace == c.namespace:
		meta, there := metas[config]
		return adoption.Known{Meta: meta, Absent: !there}
	default:
		k.Meta, err = c.Meta(ctx, config)
	}
	switch {
	case apierrors.IsNotFound(err):
		return adoption.Known{Absent: true}
	case err != nil:
		return adoption.Known{Fault: err.Error()}
	}
	return k
}

// summary counts workloads: all, and those with something to report.
type summary struct {
	Workloads int `json:"workloads"`
	Rolls     int `json:"rolls"`
	Unknown   int `json:"unknown"`
	Conflicts int `json:"conflicts"`
	Typos     int `json:"typos"`
	Leftovers int `json:"leftovers"`
}

func (c *census) summary() summary {
	s, one := summary{Workloads: len(c.reports)}, map[bool]int{true: 1}
	for i := range c.reports {
		r := &c.reports[i]
		s.Rolls += one[r.Rolls]
		s.Unknown += one[r.Unknown]
		s.Conflicts += one[r.Has(adoption.Conflict)]
		s.Typos += one[r.Has(adoption.Typo)]
		s.Leftovers += one[r.Has(adoption.Leftover)]
	}
	return s
}

func compareRefs(a, b reloader.WorkloadRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func (c *census) answer() answer {
	a := answer{body: map[string]any{"items": c.reports, "summary": c.summary(), "warnings": c.warnings}, show: c.show}
	for i := range c.reports {
		a.names = append(a.names, nameOf(c.reports[i].Workload))
	}
	return a
}

func nameOf(w reloader.WorkloadRef) string { return workloadRef("", w).String() }

// censusColumns are those of the table; -o wide adds the wide ones.
var censusColumns = columnsOf("NAMESPACE, WORKLOAD, TOOLS, CONFIGS, FIRST START, +DIALECTS, +MARKS, +STATES")

// show writes a table of the workloads, what needs attention, and a summary.
func (c *census) show(l *lines, wide bool) {
	var rows []row
	for i := range c.reports {
		rows = append(rows, censusRow(&c.reports[i]))
	}
	l.table(censusColumns, rows, wide, nil)
	l.add()
	var found findings
	for i := range c.reports {
		r := &c.reports[i]
		for _, f := range r.Findings {
			found.add(nameOf(r.Workload), careful, string(f.Kind)+": "+f.Message, f.Fix)
		}
		for _, f := range r.Configs {
			if f.State == adoption.Missed {
				found.add(nameOf(r.Workload), wrong, "rolls once: its "+f.Dialect+" mark differs from the present content of "+string(f.Config.Kind)+"/"+f.Config.Name,
					"roll it with the tool first, or accept this roll: it applies a change that the tool missed")
			}
		}
	}
	found.show(l)
	s := c.summary()
	l.addf("%s; the first start rolls %d of them. Workloads with conflicts: %d, with typos: %d, with remains of another tool: %d. Workloads that could not be examined: %d",
		count(s.Workloads, "workload"), s.Rolls, s.Conflicts, s.Typos, s.Leftovers, s.Unknown)
}

func censusRow(r *adoption.Report) row {
	var tools, marks, states []string
	for _, t := range r.Tools {
		tools, marks = append(tools, t.Dialect), append(marks, t.Marks...)
	}
	for _, f := range r.Configs {
		states = append(states, string(f.Config.Kind)+"/"+f.Config.Name+"="+string(f.State))
	}
	does := cell{"rolls nothing", good}
	switch {
	case r.Rolls:
		does = cell{"rolls it once", bad}
	case r.Unknown:
		does = cell{"unknown", alert}
	}
	return row{cells: []cell{
		text(r.Workload.Namespace), text(r.Workload.Kind + "/" + r.Workload.Name), text(cmp.Or(strings.Join(tools, ","), dash)),
		text(strconv.Itoa(len(r.Configs))), does,
		text(cmp.Or(strings.Join(r.Dialects, ","), dash)), text(cmp.Or(strings.Join(marks, ","), dash)), text(cmp.Or(strings.Join(states, ","), dash)),
	}}
}
