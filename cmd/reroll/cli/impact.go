package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// impactAtOnce is how many configs one question to the API may have.
const impactAtOnce = 100

// impactFlags say what is supposed to change.
type impactFlags struct {
	question
	scope
	files, keys []string
	judge       bool
}

// impactCommand says what would roll if configs changed now.
func impactCommand(version string) *cobra.Command {
	q := &impactFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "impact [" + refForm + "]...",
		Short: "Say what would roll if configs changed now, before they do",
		Long: "Say what would roll if configs changed now. The configs are named, or are those in manifests. With --exit-code it is a gate for continuous\n" +
			"integration: it ends with code 0 if nothing would roll, now or later, 1 if something would, or a webhook would be called instead, and 3 if that\n" +
			"could not be found out: the server was not reached, or does not know all about the cluster. Contents are not compared: every config that is\n" +
			"named is supposed to change. -o name has the workloads that would roll, now or later; -o wide is a table with a row for\n" +
			"each workload, and how it would be marked.",
		Example: "  reroll impact shop/ConfigMap/settings --key level\n  reroll impact cm/settings secret/password -n shop -o name\n" +
			"  kustomize build overlays/production | reroll impact -f - -n shop --exit-code",
		RunE: func(cmd *cobra.Command, args []string) error {
			rolls, complete, err := q.run(cmd, args)
			switch {
			case !q.judge:
				return err
			case err == nil && rolls:
				return errAnswer
			case err == nil && !complete:
				err = errors.New("whether something would roll is not known: the warnings say why")
			}
			return judged(err)
		},
	}
	q.question.bind(cmd, allFormats...)
	q.scope.bind(cmd, &q.question)
	f := cmd.Flags()
	f.StringArrayVarP(&q.files, "filename", "f", nil, "file of manifests whose configs are supposed to change, - for standard input; may be given several times")
	f.StringSliceVar(&q.keys, "key", nil, "key that is supposed to change; may be given several times; any if absent")
	f.BoolVar(&q.judge, "exit-code", false, "end with code 1 if something would roll")
	cmd.ValidArgsFunction = q.complete(configNames)
	return cmd
}

// run shows what would become of each workload, and reports whether one would roll, and whether the server knows of all.
func (f *impactFlags) run(cmd *cobra.Command, args []string) (rolls, complete bool, err error) {
	s, err := f.open(cmd)
	if err != nil {
		return false, false, err
	}
	supposed, err := f.supposed(s, args)
	if err != nil {
		return false, false, err
	}
	l, err := s.impact(supposed)
	if err != nil {
		return false, false, err
	}
	s.warn(l.warnings)
	a := answer{show: func(w io.Writer, wide, headers, colours bool) error {
		if wide {
			return impactTable(l.items).write(w, true, headers, colours)
		}
		out := newLines(w, colours)
		for _, impact := range l.items {
			writeImpact(out, impact)
		}
		return out.err
	}}
	complete = true
	for _, impact := range l.items {
		s.warn(impact.Warnings)
		complete = complete && impact.Complete
		for _, w := range impact.Workloads {
			if name := impactedRef(impact, w).String(); w.Fate != verdict.RollsNever && !slices.Contains(a.names, name) {
				a.names = append(a.names, name)
			}
		}
	}
	a.body = impactsBody(l, complete)
	return len(a.names) > 0, complete, f.print(cmd.OutOrStdout(), a)
}

// impactsBody returns the answers to all questions as the one of the API.
func impactsBody(l listing[view.Impact], complete bool) json.RawMessage {
	body, _ := json.Marshal(struct { // raw messages that were decoded, texts and a boolean
		view.List[json.RawMessage]
		Complete bool `json:"complete"`
	}{l.page(), complete})
	return body
}

// supposed gathers the configs that are named, and those in manifests, each once.
func (f *impactFlags) supposed(s *session, args []string) (configs []api.SupposedChange, err error) {
	var refs []ref
	for _, arg := range args {
		r, err := parseRef(arg, configKinds())
		if err != nil {
			return nil, err
		}
		refs = append(refs, r)
	}
	for _, file := range f.files {
		found, err := configsInFile(s.cmd.InOrStdin(), file)
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		refs = append(refs, found...)
	}
	if len(args)+len(f.files) == 0 {
		return nil, Usage(errors.New("which configs? Name them, or the files that have them with --filename"))
	}
	seen, only := map[ref]bool{}, ""
	for _, r := range refs {
		named := r.cluster != "" || f.cluster != ""
		if r, err = r.in(f.scope); err != nil {
			return nil, err
		}
		if r.cluster == "" {
			r.cluster = only // which is looked for once
		}
		if r, err = s.only(r); err != nil {
			return nil, err
		}
		if !named {
			only = r.cluster
		}
		if !seen[r] {
			seen[r] = true
			configs = append(configs, api.SupposedChange{Cluster: r.cluster, Namespace: r.namespace, Kind: r.kind, Name: r.name, Keys: f.keys})
		}
	}
	return configs, nil
}

// impact asks about all configs, as many at once as the API takes.
func (s *session) impact(configs []api.SupposedChange) (l listing[view.Impact], err error) {
	p := newProgress(s.cmd.ErrOrStderr())
	defer p.end()
	for part := range slices.Chunk(configs, impactAtOnce) {
		page, err := s.impactOf(s, part)
		if err != nil {
			return l, err
		}
		l.items, l.raw = append(l.items, page.items...), append(l.raw, page.raw...)
		l.warnings = union(l.warnings, page.warnings)
		p.say("%d of %d configs", len(l.items), len(configs))
	}
	return l, nil
}

func (c *client) impactOf(ctx context.Context, configs []api.SupposedChange) (l listing[view.Impact], err error) {
	question, err := json.Marshal(api.ImpactQuestion{Configs: configs})
	if err != nil {
		return l, err
	}
	body, err := c.ask(ctx, http.MethodPost, "/api/v1/impact", nil, question, nil)
	if err != nil {
		return l, err
	}
	var page view.List[json.RawMessage]
	if err := decode(body, &page); err != nil {
		return l, err
	}
	l.raw, l.warnings, l.items = page.Items, page.Warnings, make([]view.Impact, len(page.Items))
	for i, raw := range page.Items {
		if err := decode(bytes.TrimSpace(raw), &l.items[i]); err != nil {
			return l, err
		}
	}
	return l, nil
}

func writeImpact(l *lines, v view.Impact) {
	l.add(cell{configRef("", v.Config).String(), bold}, verdictOf(v))
	for _, w := range v.Workloads {
		r := impactedRef(v, w)
		if r.cluster == "" && r.namespace == v.Config.Namespace {
			r.namespace = ""
		}
		l.add(append([]cell{text("  " + r.String() + "  ")}, foreseen(w)...)...)
	}
}

// impactTable has all there is about each workload.
func impactTable(impacts []view.Impact) *table {
	t := &table{columns: []column{
		{name: "CONFIG"}, {name: "WORKLOAD"}, {name: "ROLLS"}, {name: "STATE"}, {name: "WHY"}, {name: "CLAUSE"}, {name: "USES"}, {name: "STRATEGY"}, {name: "MESSAGE"},
	}}
	for _, impact := range impacts {
		config := text(configRef("", impact.Config).String())
		for _, w := range impact.Workloads {
			t.add(config, text(impactedRef(impact, w).String()), fateCell(w), verdictCell(w.Verdict), text(string(w.Dependency.Why)), text(orDash(w.Dependency.Clause)),
				text(usesOf(w)), text(orDash(w.Strategy)), text(w.Verdict.Message))
		}
		if len(impact.Workloads) == 0 {
			t.add(config, text(dash), text(dash), text(dash), text(dash), text(dash), text(dash), text(dash), text(strings.TrimPrefix(verdictOf(impact).text, ": ")))
		}
	}
	return t
}

// usesOf says where the pod template refers to the config, and whether a key that would change is among what it uses.
func usesOf(w view.ImpactedWorkload) string {
	var uses []string
	for _, u := range w.Dependency.Uses {
		uses = append(uses, sayUse(u))
	}
	if !w.UsesKeys {
		uses = append(uses, "none of the keys")
	}
	return orDash(strings.Join(uses, "; "))
}

// impactedRef names a workload: its cluster is left out if it is that of the config.
func impactedRef(v view.Impact, w view.ImpactedWorkload) ref {
	if w.Cluster == v.Cluster {
		return workloadRef("", w.Workload)
	}
	return workloadRef(w.Cluster, w.Workload)
}

// verdictOf sums up what would become of all.
func verdictOf(v view.Impact) cell {
	said := ": nothing would roll"
	switch {
	case v.RollsNow+v.RollsLater+v.NotifiedCount > 0:
		said = fmt.Sprintf(": %d would roll, %d would wait", v.RollsNow, v.RollsLater)
		if v.NotifiedCount > 0 {
			said += fmt.Sprintf(", for %d a webhook would be called", v.NotifiedCount)
		}
		if v.NeverCount > 0 {
			said += fmt.Sprintf(", %d would not roll at all", v.NeverCount)
		}
		return cell{said, warn}
	case !v.Complete:
		return cell{said + ", as far as is known", warn}
	case v.NeverCount == 0:
		said += ": no opted-in workload asks for it"
	}
	return cell{said, faint}
}

// fateCell says whether a workload would roll.
func fateCell(w view.ImpactedWorkload) cell {
	styles := map[verdict.Fate]style{verdict.RollsNow: good, verdict.RollsLater: warn, verdict.Notified: warn, verdict.RollsNever: faint}
	return cell{string(w.Fate), styles[w.Fate]}
}

// foreseen says what would become of a workload, and why it is reached at all.
func foreseen(w view.ImpactedWorkload) []cell {
	line := []cell{fateCell(w), text(": " + w.Verdict.Message), {"  " + string(w.Dependency.Why), faint}}
	if w.Dependency.Clause != "" {
		line = append(line, cell{" [" + w.Dependency.Clause + "]", faint})
	}
	if !w.UsesKeys {
		line = append(line, cell{" uses none of the keys", faint})
	}
	return line
}
