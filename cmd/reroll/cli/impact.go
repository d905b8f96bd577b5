package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

type impactFlags struct {
	*globals
	files, keys []string
	judge       bool
	settings    config.Flags
}

// foreseen is what would become of a config, and Change and Differs what manifests would do to it; they are empty without manifests.
type foreseen struct {
	view.Impact
	Change  string               `json:"change,omitempty"`
	Differs []reloader.KeyChange `json:"differs,omitempty"`
}

func impactCommand(g *globals) *cobra.Command {
	q := &impactFlags{globals: g}
	cmd := take(&cobra.Command{
		Use:   "impact [" + configForm + "]...",
		Short: "Say what would roll if configs changed, or manifests were applied",
		Long: "Say what would roll if the named configs changed now, as Reroll has it on record.\n" +
			"With -f, say which ConfigMaps and Secrets among manifests differ from those in the cluster, and\n" +
			"which live workloads would roll. That needs read access with your kubeconfig and no Reroll;\n" +
			"pauses and limits are not part of it, and the settings are those of --config.\n" +
			"-o markdown is for a comment on a pull request, and -o name has the workloads that would roll.",
		Example: "  reroll impact cm/settings secret/password -n shop\n  reroll impact shop/ConfigMap/settings --key level\n" +
			"  kustomize build overlays/production | reroll impact -f - -n shop -o markdown",
		RunE: func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) },
	}, takesAsk, "namespace")
	f := cmd.Flags()
	f.StringArrayVarP(&q.files, "filename", "f", nil, "file of manifests to compare with the cluster, - for standard input")
	f.StringSliceVar(&q.keys, "key", nil, "key that is supposed to change (default: any)")
	q.settings.BindFile(f)
	f.BoolVar(&q.judge, "exit-code", false, "exit with 1 if something would roll, or that is not known")
	cmd.ValidArgsFunction = g.complete(configNames, 0)
	return cmd
}

// run prints what would become of each workload.
func (f *impactFlags) run(cmd *cobra.Command, args []string) (err error) {
	var found view.List[foreseen]
	switch {
	case len(args) > 0 && len(f.files) > 0:
		return usagef("name configs, or give files of manifests with --filename, not both")
	case len(f.files) > 0:
		found.Items, err = f.ofFiles(cmd)
	default:
		err = f.asking(cmd, func(s *session) error {
			found, err = f.onRecord(s, args)
			return err
		})
	}
	if err != nil {
		return err
	}
	a, complete := answer{}, true
	found.Warnings = append([]string{}, found.Warnings...)
	for _, impact := range found.Items {
		complete = complete && impact.Complete
		found.Warnings = union(found.Warnings, impact.Warnings)
		for _, w := range impact.Workloads {
			if w.Fate != verdict.RollsNever {
				a.names = union(a.names, []string{impactedRef(impact, w).String()})
			}
		}
	}
	warn(cmd, found.Warnings)
	a.body, a.show = found, func(out *lines, wide bool) {
		for _, impact := range found.Items {
			out.impact(impact, wide)
		}
	}
	if f.format == formatMarkdown {
		err = writeMarkdown(newLines(cmd.OutOrStdout()), found.Items, complete)
	} else {
		err = f.print(cmd, a)
	}
	switch {
	case err != nil || !f.judge:
		return err
	case len(a.names) > 0:
		return errAnswer
	case !complete:
		return errors.New("cannot determine whether anything would roll: see the warnings")
	}
	return nil
}

func (f *impactFlags) ofFiles(cmd *cobra.Command) ([]foreseen, error) {
	if f.server != "" || f.cluster != "" || len(f.keys) > 0 {
		return nil, usagef("--filename compares with the cluster of your kubeconfig, and takes no --server, --cluster and --key")
	}
	var proposals []proposal
	for _, file := range f.files {
		found, err := proposalsIn(cmd.InOrStdin(), file, f.namespace)
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		proposals = append(proposals, found...)
	}
	for _, p := range proposals {
		if p.Config.Namespace == "" {
			return nil, usagef("in which namespace is %s? Name it with -n", configRef("", p.Config))
		}
	}
	if len(proposals) == 0 {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "There are no ConfigMaps or Secrets among the manifests.")
		return []foreseen{}, nil
	}
	return f.compare(cmd.Context(), proposals)
}

// onRecord asks the API about the configs that are named.
func (f *impactFlags) onRecord(s *session, args []string) (found view.List[foreseen], err error) {
	if len(args) == 0 {
		return found, usagef("which configs? Name them, or give files of manifests with --filename")
	}
	var supposed api.ImpactQuestion
	for _, arg := range args {
		r, err := f.placed(arg, configKinds())
		if err == nil {
			r, err = s.only(r)
		}
		if err != nil {
			return found, err
		}
		supposed.Configs = append(supposed.Configs, api.SupposedChange{Cluster: r.cluster, Namespace: r.namespace, Kind: reloader.ConfigKind(r.kind), Name: r.name, Keys: f.keys})
	}
	question, err := json.Marshal(supposed)
	if err != nil {
		return found, err
	}
	body, err := s.ask(s, http.MethodPost, path("impact"), nil, question)
	if err != nil {
		return found, err
	}
	return found, decode(body, &found)
}

func (l *lines) impact(v foreseen, wide bool) {
	l.add(cell{configRef("", v.Config).String(), bold}, text(changeOf(v)), sumOf(v))
	styles := map[verdict.Fate]style{verdict.RollsNow: good, verdict.RollsLater: alert, verdict.Reloads: good, verdict.Notified: alert, verdict.RollsNever: faint}
	for _, w := range v.Workloads {
		r := impactedRef(v, w)
		if r.cluster == "" && r.namespace == v.Config.Namespace {
			r.namespace = ""
		}
		line := []cell{text("  " + r.String() + "  "), {string(w.Fate), styles[w.Fate]}, text(": " + w.Verdict.Message), {"  " + string(w.Dependency.Why), faint}}
		if !w.UsesKeys {
			line = append(line, cell{", uses none of the keys", faint})
		}
		if wide {
			line = append(line, cell{" (" + w.Dependency.Clause + "), used " + usesOf(w.Dependency.Uses) + ", strategy " + w.Strategy, faint})
		}
		l.add(line...)
	}
}

// impactedRef names a workload, with its cluster if it is not that of the config.
func impactedRef(v foreseen, w view.ImpactedWorkload) ref {
	if w.Cluster == v.Cluster {
		return workloadRef("", w.Workload)
	}
	return workloadRef(w.Cluster, w.Workload)
}

// changeOf says what manifests would do to the config, after its name.
func changeOf(v foreseen) string {
	switch {
	case v.Change == wouldCreate:
		return " (new)"
	case len(v.Differs) > 0:
		return " [" + keysOf(v.Differs) + "]"
	}
	return ""
}

func sumOf(v foreseen) cell {
	if v.Change == wouldKeep {
		return cell{": unchanged", faint}
	}
	acts := v.RollsNow + v.RollsLater + v.ReloadCount + v.NotifiedCount
	switch {
	case acts == 0 && !v.Complete:
		return cell{": nothing would roll, as far as is known", alert}
	case acts+v.NeverCount == 0:
		return cell{": nothing would roll: no opted-in workload asks for it", faint}
	}
	said := fmt.Sprintf(": %d would roll, %d would wait", v.RollsNow, v.RollsLater)
	add := func(n int, format string) {
		if n > 0 {
			said += fmt.Sprintf(format, n)
		}
	}
	add(v.ReloadCount, ", %d would reload without a restart")
	add(v.NotifiedCount, ", for %d a webhook would be called")
	add(v.NeverCount, ", %d would not roll")
	return cell{said, map[bool]style{true: alert, false: faint}[acts > 0]}
}

// writeMarkdown writes a table for a comment on a pull request.
func writeMarkdown(l *lines, all []foreseen, complete bool) error {
	field := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	l.add(text("| Config | Workload | Rolls | Why |"))
	l.add(text("|---|---|---|---|"))
	for _, v := range all {
		config := "`" + field.Replace(configRef("", v.Config).String()+changeOf(v)) + "`"
		switch {
		case v.Change == wouldKeep:
			l.addf("| %s | - | never | unchanged |", config)
		case len(v.Workloads) == 0:
			l.addf("| %s | - | never | no opted-in workload asks for it |", config)
		}
		for _, w := range v.Workloads {
			l.addf("| %s | `%s` | %s | %s |", config, field.Replace(impactedRef(v, w).String()), strings.ToLower(string(w.Fate)), field.Replace(w.Verdict.Message))
		}
	}
	if !complete {
		l.add(text(""))
		l.add(text("The answer may be incomplete."))
	}
	return l.err
}
