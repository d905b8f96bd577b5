package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/near"
)

// Questions returns the commands that ask the server.
func Questions(version string) []*cobra.Command {
	return []*cobra.Command{
		statusCommand(version), clustersCommand(version), changesCommand(version), reloadsCommand(version), workloadsCommand(version),
		explainCommand(version), impactCommand(version), watchCommand(version), doctorCommand(version), uiCommand(version),
	}
}

// Preparations returns the commands that make what others need.
func Preparations(version string) []*cobra.Command {
	return []*cobra.Command{auditCommand(version), completionCommand()}
}

// question is what every command has that asks the REST API.
type question struct {
	target
	output
	version string
}

// bind declares the flags, and has whatever the command opens closed at its end.
func (q *question) bind(cmd *cobra.Command, formats ...string) {
	q.bindTarget(cmd)
	q.output.bind(cmd, formats...)
}

// bindPlain is bind for a command without tables.
func (q *question) bindPlain(cmd *cobra.Command, formats ...string) {
	q.bindTarget(cmd)
	q.output.bindPlain(cmd, formats...)
}

func (q *question) bindTarget(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer q.close()
		return run(cmd, args)
	}
	q.target.bind(cmd)
}

// session is one run of a command that asks.
type session struct {
	context.Context
	*client
	cmd *cobra.Command
	now time.Time
}

// open checks the flags and returns what the command runs in.
func (q *question) open(cmd *cobra.Command) (*session, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	c, err := q.client(cmd.Context(), q.version)
	if err != nil {
		return nil, err
	}
	return &session{Context: cmd.Context(), client: c, cmd: cmd, now: time.Now()}, nil
}

// warn tells what may be missing from an answer.
func (s *session) warn(warnings []string) { printWarnings(s.cmd, warnings) }

func printWarnings(cmd *cobra.Command, warnings []string) {
	for _, warning := range warnings {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning:", printable(warning))
	}
}

// shown is how a command shows a list of T.
type shown[T any] struct {
	columns []column
	name    func(T) string
	row     func(T) []cell
	// none is what people read instead of an empty table.
	none string
}

// printList shows all items of l.
func printList[T any](s *session, o *output, l listing[T], how shown[T]) error {
	s.warn(l.warnings)
	a := answer{body: l.body()}
	t := table{columns: how.columns}
	for _, item := range l.items {
		a.names = append(a.names, how.name(item))
		t.add(how.row(item)...)
	}
	a.show = t.write
	if len(l.items) == 0 && o.tabular() {
		_, err := fmt.Fprintln(s.cmd.ErrOrStderr(), how.none)
		return err
	}
	return o.print(s.cmd.OutOrStdout(), a)
}

// printOne shows one record: lines for people, or the record as the API has it.
func printOne(s *session, o *output, body json.RawMessage, name string, lines func(w *lines)) error {
	return o.print(s.cmd.OutOrStdout(), answer{body: body, names: []string{name}, show: func(w io.Writer, _, _, colours bool) error {
		l := newLines(w, colours)
		lines(l)
		return l.err
	}})
}

// scope is where a command looks.
type scope struct {
	cluster, namespace string
	everywhere         bool
}

func (s *scope) bind(cmd *cobra.Command, q *question) {
	f := cmd.Flags()
	f.StringVar(&s.cluster, "cluster", "", "the cluster")
	f.StringVarP(&s.namespace, "namespace", "n", "", "the namespace")
	_ = cmd.RegisterFlagCompletionFunc("cluster", q.complete(clusterNames))
	_ = cmd.RegisterFlagCompletionFunc("namespace", q.complete(namespaces))
}

// bindAll is bind for a command that looks everywhere unless it is told where.
func (s *scope) bindAll(cmd *cobra.Command, q *question) {
	s.bind(cmd, q)
	cmd.Flags().BoolVarP(&s.everywhere, "all-namespaces", "A", false, "all namespaces, which is also meant without --namespace")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
}

// query returns the scope as parameters.
func (s scope) query() url.Values {
	q := url.Values{}
	set(q, "cluster", s.cluster)
	set(q, "namespace", s.namespace)
	return q
}

// set sets a parameter that is not empty.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// only fills in the cluster of a ref: there must be only one if the command line names none.
func (s *session) only(r ref) (ref, error) {
	if r.cluster != "" {
		return r, nil
	}
	names, err := s.clusters()
	if err != nil {
		return r, err
	}
	switch len(names) {
	case 0:
		return r, errors.New("the server knows no cluster yet; name it with --cluster")
	case 1:
		r.cluster = names[0]
		return r, nil
	}
	return r, Usage(fmt.Errorf("in which cluster is %s? Name it with --cluster: %s", r, strings.Join(names, ", ")))
}

// clusters returns the names of those that the server knows.
func (s *session) clusters() (names []string, err error) {
	l, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	for _, c := range l.items {
		names = append(names, c.Cluster)
	}
	return names, err
}

// several reports whether there is more than one cluster among items, or that the server knows.
func several[T any](s *session, items []T, cluster func(T) string) bool {
	if slices.ContainsFunc(items, func(item T) bool { return cluster(item) != cluster(items[0]) }) {
		return true
	}
	names, _ := s.clusters() // who may not ask sees one
	return len(names) > 1
}

// checkCluster refuses a cluster that the server does not know. Who may not ask which it knows is not told that it does not.
func (s *session) checkCluster(name string) error {
	names, err := s.clusters()
	if err != nil || len(names) == 0 || slices.Contains(names, name) {
		return nil //nolint:nilerr // the question itself says what is wrong
	}
	end := "; the server knows " + strings.Join(names, ", ")
	if meant, ok := near.Word(name, names); ok {
		end = "; did you mean " + meant + "? The server knows " + strings.Join(names, ", ")
	}
	return Usage(fmt.Errorf("there is no cluster %s%s", name, end))
}

// silently is for lists too short to tell how they come in.
func silently(int) {}

// path joins what names a record, of which no part can leave its place.
func path(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/api/v1/" + strings.Join(parts, "/")
}

// group is a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(below...)
	return cmd
}
