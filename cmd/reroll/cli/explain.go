package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// explainFlags say what is explained.
type explainFlags struct {
	question
	scope
	config string
}

// explainCommand says step by step why a workload rolls or does not.
func explainCommand(version string) *cobra.Command {
	q := &explainFlags{question: question{version: version}}
	var judge bool
	cmd := &cobra.Command{
		Use:   "explain " + refForm,
		Short: "Explain step by step why a workload does or does not roll",
		Long: "Explain step by step why a workload does or does not roll. The first line is the verdict: the state, one sentence, and the next command; with --config, that of\n" +
			"this dependency. With --exit-code it ends with code 0 if the workload needs no attention, 1 if it does, and 3 if that could not be found out.\n" +
			"-o wide has a table with a row for each step, with its reason and when it was so; -o name has the configs.\n" +
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
			Verdict view.Verdict `json:"verdict"`
		}{of.Verdict})
	}
	if err != nil {
		return false, err
	}
	s.warn(of.Warnings)
	var names []string
	for _, x := range of.Explanations {
		names = append(names, configNamed(x).String())
	}
	first := of.Verdict
	if f.config != "" && len(of.Explanations) == 1 {
		first = of.Explanations[0].Verdict
	}
	well = !verdict.State(of.Verdict.State).NeedsAttention()
	return well, f.print(cmd.OutOrStdout(), answer{body: body, names: names, show: func(w io.Writer, wide, headers, colours bool) error {
		if wide && len(of.Explanations) > 0 {
			return stepsTable(of.Explanations).write(w, true, headers, colours)
		}
		out := newLines(w, colours)
		writeVerdict(out, first)
		for _, x := range of.Explanations {
			out.add()
			writeExplanation(out, x, first, s.now)
		}
		return out.err
	}})
}

// marks stand for the results of a step.
var marks = map[string]cell{"Passed": {"✓ ", good}, "Stopped": {"■ ", warn}, "Noted": {"· ", faint}}

// configNamed names the config of x as other commands take it, with its cluster if that is not the workload's.
func configNamed(x view.Explanation) ref { return configRef(x.Config.Cluster, x.Config) }

// explained names the config of x, as seen from the workload.
func explained(x view.Explanation) string { return nearName(x.Config, x.Workload) }

// nearName names a config, with its namespace and cluster if they are not those of a workload.
func nearName(c view.Config, w view.WorkloadRef) string {
	r := configRef(c.Cluster, c)
	if r.cluster == "" && r.namespace == w.Namespace {
		r.namespace = ""
	}
	return r.String()
}

func writeExplanation(l *lines, x view.Explanation, of view.Verdict, now time.Time) {
	head := []cell{{workloadRef("", x.Workload).String(), bold}, text(" and "), {explained(x), bold}, text(": "), {string(x.State), stateStyle(x.State)}}
	if x.Reason != "" && string(x.Reason) != string(x.State) {
		head = append(head, text(", "+string(x.Reason)))
	}
	l.add(head...)
	for _, step := range x.Steps {
		line := []cell{text("  "), marks[step.Result], text(step.Question + " "), {step.Answer, marks[step.Result].style}}
		if !step.At.IsZero() {
			line = append(line, text(" ("+ago(now, step.At)+")"))
		}
		line = append(line, text("."))
		if !said(of, step) {
			line = append(line, text(" "+step.Message))
		}
		for _, detail := range []string{step.Clause, step.Change, step.Reload} {
			if detail != "" {
				line = append(line, cell{" " + detail, faint})
			}
		}
		l.add(line...)
	}
}

// said reports whether the verdict, which stands above, has the words of a step.
func said(of view.Verdict, s view.Step) bool {
	words := strings.TrimSuffix(strings.TrimPrefix(s.Message, "It "), ".")
	return strings.Contains(of.Message, words)
}

// stepsTable has all there is about each step.
func stepsTable(explanations []view.Explanation) *table {
	t := &table{columns: []column{
		{name: "CONFIG"}, {name: "STATE"}, {name: "STEP"}, {name: "ANSWER"}, {name: "REASON"}, {name: "AT"}, {name: "CHANGE"}, {name: "RELOAD"}, {name: "CLAUSE"}, {name: "MESSAGE"},
	}}
	for _, x := range explanations {
		for _, s := range x.Steps {
			t.add(text(explained(x)), cell{string(x.State), stateStyle(x.State)}, text(s.Step), cell{s.Answer, marks[s.Result].style}, reasonCell(view.Reason(orDash(string(s.Reason)))),
				text(exactly(s.At)), text(orDash(s.Change)), text(orDash(s.Reload)), text(orDash(s.Clause)), text(s.Message))
		}
	}
	return t
}
