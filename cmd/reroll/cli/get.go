package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type getFlags struct {
	*globals
	resource
	watch  bool
	most   int
	span   time.Duration
	config string
	state  string
	name   string // of one record
}

func getCommand(g *globals) *cobra.Command {
	q := &getFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "get " + strings.Join(resourceNames(), "|") + " [NAME]",
		Short: "List changes, reloads, workloads or clusters, or watch them",
		Long: "List changes of configs, reloads of workloads, opted-in workloads, or clusters. NAME is the ID of a\nchange or reload, or the name of " +
			"a workload (KIND/NAME) or cluster; for reloads, also that of their\nworkload. -o yaml shows all fields of a record.",
		Example: "  reroll get changes -n shop --since 24h\n  reroll get reloads deploy/web -n shop -o wide\n" +
			"  reroll get workloads -A --state Held\n  reroll get workloads --for-config secret/password -n shop\n  reroll get changes -n shop -w",
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) },
	}, takesAsk, takesScope)
	f := cmd.Flags()
	f.BoolVarP(&q.watch, "watch", "w", false, "also print what is new or different, until interrupted")
	f.IntVar(&q.most, "limit", 50, "how many changes or reloads to list, the newest first; 0 lists all")
	f.DurationVar(&q.span, "since", 0, "only changes or reloads of this time, such as 2h; 0 is any time")
	f.StringVar(&q.config, "for-config", "", "only what is about this config, "+configForm)
	f.StringVar(&q.state, "state", "", "only workloads in this state, clusters of this health, reloads with this outcome, changes of this type")
	_ = cmd.RegisterFlagCompletionFunc("for-config", g.complete(configNames, 0))
	_ = cmd.RegisterFlagCompletionFunc("state", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		r, _ := resourceNamed(args)
		return r.states, cobra.ShellCompDirectiveNoFileComp
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		r, ok := resourceNamed(args)
		if !ok {
			return resourceNames(), cobra.ShellCompDirectiveNoFileComp
		}
		return g.complete(r.names, 2)(cmd, args, begin)
	}
	return cmd
}

func resourceNamed(args []string) (r resource, ok bool) {
	i := slices.IndexFunc(resources, func(r resource) bool { return len(args) > 0 && (args[0] == r.name || args[0]+"s" == r.name) })
	if i < 0 {
		return r, false
	}
	return resources[i], true
}

func (f *getFlags) run(cmd *cobra.Command, args []string) error {
	r, ok := resourceNamed(args)
	switch {
	case !ok:
		return usagef("%q is not one of %s", args[0], strings.Join(resourceNames(), ", "))
	case f.most < 0 || f.span < 0:
		return usagef("--limit and --since must not be negative")
	case f.state != "" && !slices.Contains(r.states, f.state):
		return usagef("--state: %q is not one of %s", f.state, strings.Join(r.states, ", "))
	}
	f.resource, f.name = r, one(args[1:])
	if f.watch {
		return f.asking(cmd, f.follow)
	}
	return f.asking(cmd, f.list)
}

func (f *getFlags) list(s *session) error {
	l, single, err := f.fetch(s)
	if err != nil {
		return err
	}
	warn(s.cmd, l.warnings)
	rows, columns, err := f.rows(l.raw, s.now)
	if err != nil {
		return err
	}
	if len(rows) == 0 && f.tabular() {
		_, err := fmt.Fprintf(s.cmd.ErrOrStderr(), "No %s found.\n", f.resource.name)
		return err
	}
	a := answer{body: l.page(), show: func(w *lines, wide bool) { w.table(columns, rows, wide, nil) }}
	if single {
		a.body = l.raw[0]
	}
	for _, row := range rows {
		a.names = append(a.names, row.name)
	}
	return f.print(s.cmd, a)
}

func (f *getFlags) fetch(s *session) (l listing[json.RawMessage], single bool, err error) {
	q, most := url.Values{}, 0
	set(q, "cluster", f.cluster)
	byID := f.resource.name == "changes" || f.resource.name == "reloads"
	workload := f.resource.name == "workloads" || f.resource.name == "reloads" && strings.Contains(f.name, "/")
	switch {
	case f.resource.name == "clusters":
		q.Del("cluster")
		set(q, "name", cmp.Or(f.name, f.cluster))
	case f.name != "" && workload:
		r, err := s.find(f.name)
		if err != nil {
			return l, false, err
		}
		if f.resource.name == "workloads" {
			return f.single(s, path("workloads", r.cluster, r.namespace, r.kind, r.name), nil)
		}
		q = r.query("cluster", "namespace", "kind", "name")
	case f.name != "":
		return f.single(s, path(f.resource.name, f.name), q)
	default:
		set(q, "namespace", f.namespace)
	}
	set(q, f.resource.state, f.state)
	if err := f.aboutConfig(q); err != nil {
		return l, false, err
	}
	if byID {
		most = f.most
		if f.span > 0 {
			q.Set("since", s.now.Add(-f.span).UTC().Format(time.RFC3339))
		}
	}
	l, err = list[json.RawMessage](s, s.client, f.resource.name, q, most)
	if f.resource.name != "clusters" || f.name == "" || err != nil {
		return l, false, err
	}
	if len(l.raw) == 0 {
		return l, false, fmt.Errorf("unknown cluster %s. List clusters with: reroll get clusters", f.name)
	}
	return l, true, nil
}

func (f *getFlags) single(s *session, path string, q url.Values) (l listing[json.RawMessage], single bool, err error) {
	body, err := s.ask(s, http.MethodGet, path, q, nil)
	return listing[json.RawMessage]{raw: []json.RawMessage{body}}, true, err
}

func (f *getFlags) aboutConfig(q url.Values) error {
	switch {
	case f.config == "":
		return nil
	case f.resource.name == "clusters":
		return usagef("--for-config does not apply to clusters")
	case f.resource.name == "changes":
		r, err := f.parseRef(f.config, configKinds(), false)
		maps.Copy(q, r.query("cluster", "namespace", "configKind", "name"))
		return err
	}
	about, err := forConfig(f.config)
	maps.Copy(q, about)
	return err
}

// forConfig returns the parameters of what is about a config, which need not be where the workloads are.
func forConfig(config string) (url.Values, error) {
	if config == "" {
		return nil, nil
	}
	r, err := (&globals{}).parseRef(config, configKinds(), false)
	return r.query("configCluster", "configNamespace", "configKind", "configName"), err
}

// rows returns what the table has of each record, and its columns: that of the cluster is wide unless there are several.
func (f *getFlags) rows(raw []json.RawMessage, now time.Time) (rows []row, columns []column, err error) {
	for _, one := range raw {
		r, err := f.read(one, now)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, r)
	}
	several := slices.ContainsFunc(rows, func(r row) bool { return r.cluster != rows[0].cluster })
	for i, r := range rows {
		if several && f.resource.name == "workloads" {
			rows[i].name = r.cluster + "/" + r.name
		}
	}
	columns = slices.Clone(f.columns)
	if i := slices.IndexFunc(columns, func(c column) bool { return c.name == "CLUSTER" }); i >= 0 {
		columns[i].wide = !several
	}
	return rows, columns, nil
}
