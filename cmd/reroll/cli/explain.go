package cli

import (
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
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// explainFlags say what is explained.
type explainFlags struct {
	question
	scope
	config string
}

// explainCommand says why a workload rolls or does not.
func explainCommand(version string) *cobra.Command {
	q := &explainFlags{question: question{version: version}}
	var judge bool
	cmd := &cobra.Command{
		Use:   "explain " + refForm,
		Short: "Explain why a workload does or does not roll",
		Long: "Explain why a workload does or does not roll. The first line is the verdict: the state, one sentence, and the next command; with --config, that of\n" +
			"this dependency. A line for each config follows, with its newest change. With --exit-code it ends with code 0 if the workload needs no attention, 1 if it does, and 3 if that could not be found out.\n" +
			"-o wide has a table with a row for each config; -o name has the configs.\n" +
			"Where Reroll has no record of the workload and the kubeconfig is of its cluster, the cluster says whether it exists.\n" + shortForm,
		Example: "  reroll explain shop/Deployment/cart\n  reroll explain cart\n  reroll explain deploy/cart -n shop --config secret/password\n  reroll explain shop/deploy/cart -o jsonpath='{.explanations[*].state}'",
		Args:    AboutOne(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			well, err := q.run(cmd, args[0])
			switch {
			case !judge:
				return err
			case err == nil && !well:
				return errAnswer
			}
			return judged(err)
		},
	}
	q.question.bind(cmd, allFormats...)
	q.scope.bind(cmd, &q.question)
	cmd.Flags().StringVar(&q.config, "config", "", "only for this config, "+refForm+"; of the workload's namespace and cluster if these are left out; every dependency if empty")
	cmd.Flags().BoolVar(&judge, "exit-code", false, "end with code 1 if the workload needs attention")
	q.live(cmd, "config", configNames)
	cmd.ValidArgsFunction = firstOnly(q.complete(workloadNames))
	return cmd
}

// run explains a workload, and reports whether it needs no attention.
func (f *explainFlags) run(cmd *cobra.Command, name string) (well bool, err error) {
	s, err := f.open(cmd)
	if err != nil {
		return false, err
	}
	parameters := url.Values{}
	if f.config != "" {
		config, err := parseRef(f.config, configKinds())
		if err != nil {
			return false, err
		}
		parameters.Set("configKind", config.kind)
		parameters.Set("configName", config.name)
		parameters.Set("configNamespace", config.namespace)
		parameters.Set("configCluster", config.cluster)
	}
	r, err := s.find(name, f.scope)
	if err != nil {
		return false, err
	}
	var of view.Explained
	body, err := s.read(s, path("workloads", r.cluster, r.namespace, r.kind, r.name), parameters, &of)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		of.Verdict = s.lookUp(&f.question, r)
		body, err = json.Marshal(struct {
			Verdict verdict.Verdict `json:"verdict"`
		}{of.Verdict})
	}
	if err != nil {
		return false, err
	}
	s.warn(of.Warnings)
	var names []string
	for _, x := range of.Explanations {
		names = append(names, configRef(x.Config.Cluster, x.Config).String())
	}
	first := of.Verdict
	if f.config != "" && len(of.Explanations) == 1 {
		first = of.Explanations[0].Verdict
	}
	well = !of.Verdict.NeedsAttention
	return well, f.print(cmd.OutOrStdout(), answer{body: body, names: names, show: func(w io.Writer, wide, headers, colours bool) error {
		if wide && len(of.Explanations) > 0 {
			return explanationsTable(of.Workload, of.Explanations).write(w, true, headers, colours)
		}
		out := newLines(w, colours)
		writeVerdict(out, first)
		for _, x := range of.Explanations {
			writeExplanation(out, of.Workload, x, first, s.now)
		}
		return out.err
	}})
}

// nearName names a config, with its namespace and cluster if they are not those of a workload.
func nearName(c reloader.Config, w reloader.WorkloadRef) string {
	r := configRef(c.Cluster, c)
	if r.cluster == "" && r.namespace == w.Namespace {
		r.namespace = ""
	}
	return r.String()
}

// writeExplanation says how a workload stands to a config in one line: what the first line has said is not said again.
func writeExplanation(l *lines, w view.Workload, x view.Explanation, first verdict.Verdict, now time.Time) {
	line := []cell{text("  "), {nearName(x.Config, w.Workload), bold}, text(": "), {string(x.State), stateStyle(x.State)}}
	if x.Message != first.Message {
		line = append(line, text(": "+x.Message))
	}
	if i := slices.IndexFunc(w.Edges, func(e reloader.Edge) bool { return e.Config == x.Config }); i >= 0 {
		line = append(line, cell{" " + strings.TrimSpace(string(w.Edges[i].Why)+" "+w.Edges[i].Clause) + ".", faint})
	}
	if c := x.Change; c != nil {
		line = append(line, cell{fmt.Sprintf(" %s %s by %s, %s.", c.Type, ago(now, c.VerifiedAt), whoOf(c.Candidates), c.ID), faint})
	}
	l.add(line...)
}

// explanationsTable has all there is about each config.
func explanationsTable(w view.Workload, explanations []view.Explanation) *table {
	t := &table{columns: []column{{name: "CONFIG"}, {name: "STATE"}, {name: "REASON"}, {name: "CHANGED"}, {name: "WHO"}, {name: "CHANGE"}, {name: "MESSAGE"}, {name: "NEXT"}}}
	for _, x := range explanations {
		at, who, id := dash, dash, dash
		if c := x.Change; c != nil {
			at, who, id = exactly(c.VerifiedAt), whoOf(c.Candidates), c.ID
		}
		t.add(text(nearName(x.Config, w.Workload)), cell{string(x.State), stateStyle(x.State)}, reasonCell(reloader.Reason(orDash(string(x.Reason)))),
			text(at), text(who), text(id), text(x.Message), text(orDash(x.Next)))
	}
	return t
}
