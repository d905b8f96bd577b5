package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

func explainCommand(g *globals) *cobra.Command {
	var judge bool
	var config string
	cmd := take(&cobra.Command{
		Use:   "explain " + workloadForm,
		Short: "Explain why a workload does or does not roll",
		Long: "Explain why a workload does or does not roll. The first line is the state and its cause, then\nfollows a line for each config, " +
			"and at the end the next command. NAME alone is enough if it is\nunique among the workloads on record.",
		Example: "  reroll explain deploy/web -n shop\n  reroll explain deploy web -n shop\n  reroll explain shop/Deployment/web -o yaml\n" +
			"  reroll explain web --exit-code",
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.asking(cmd, func(s *session) error {
				v, err := s.explain(one(args), config)
				if err == nil && judge && v.NeedsAttention {
					return errAnswer
				}
				return err
			})
		},
	}, takesAsk, "namespace")
	cmd.Flags().BoolVar(&judge, "exit-code", false, "exit with 1 if the workload needs attention")
	cmd.Flags().StringVar(&config, "for-config", "", "only how it stands to this config, "+configForm)
	_ = cmd.RegisterFlagCompletionFunc("for-config", g.complete(configNames, 0))
	cmd.ValidArgsFunction = g.complete(workloadNames, 1)
	return cmd
}

func (s *session) explain(name, config string) (v verdict.Verdict, err error) {
	q, err := forConfig(config)
	if err != nil {
		return v, err
	}
	r, err := s.find(name)
	if err != nil {
		return v, err
	}
	var of view.Explained
	var body any
	body, err = s.read(s, path("workloads", r.cluster, r.namespace, r.kind, r.name), q, &of)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		of.Verdict = s.unknown(r)
		body, err = map[string]verdict.Verdict{"verdict": of.Verdict}, nil
	}
	if err != nil {
		return v, err
	}
	if config != "" && len(of.Explanations) == 1 {
		of.Verdict = of.Explanations[0].Verdict
	}
	warn(s.cmd, of.Warnings)
	return of.Verdict, s.print(s.cmd, answer{body: body, names: []string{r.String()}, show: func(l *lines, wide bool) {
		l.add(cell{string(of.Verdict.State), stateStyle(of.Verdict.State)}, text(": "+of.Verdict.Message))
		for _, x := range of.Explanations {
			l.explanation(of, x, wide, s.now)
		}
		l.next("", s.typed(s.cmd, of.Verdict.Next))
	}})
}

// explanation says in one line how a workload stands to a config. It does not repeat the first line.
func (l *lines) explanation(of view.Explained, x view.Explanation, wide bool, now time.Time) {
	line := []cell{text("  "), {nearName(x.Config, of.Workload.Workload), bold}, text(": "), {string(x.State), stateStyle(x.State)}}
	if x.Message != of.Verdict.Message {
		line = append(line, text(": "+x.Message))
	}
	if i := slices.IndexFunc(of.Edges, func(e reloader.Edge) bool { return e.Config == x.Config }); i >= 0 {
		line = append(line, cell{" (" + strings.TrimSuffix(string(of.Edges[i].Why)+": "+of.Edges[i].Clause, ": ") + ").", faint})
		if wide {
			line = append(line, cell{" Used " + usesOf(of.Edges[i].Uses) + ".", faint})
		}
	}
	if c := x.Change; c != nil {
		line = append(line, cell{fmt.Sprintf(" %s %s ago by %s: change %s.", c.Type, since(now, c.VerifiedAt), whoOf(c.Candidates), c.ID), faint})
	}
	l.add(line...)
}

// usesOf says where a pod template refers to a config.
func usesOf(all []reloader.Use) string {
	var uses []string
	for _, u := range all {
		said := "as " + u.How
		if u.Container != "" {
			said += " of " + u.Container
		}
		if len(u.Keys) > 0 {
			said += fmt.Sprint(" ", u.Keys)
		}
		uses = append(uses, said)
	}
	if uses == nil {
		return "nowhere in the pod template"
	}
	return strings.Join(uses, "; ")
}

// liveTime bounds the look into the cluster for a workload that is not on record.
const liveTime = 5 * time.Second

var dialects = dialect.All(dialect.StakaterOptions{})

// unknown returns the verdict of a workload that is not on record. If the kubeconfig is of its cluster, it looks there, with the user's rights.
func (s *session) unknown(r ref) verdict.Verdict {
	of := verdict.Case{Cluster: r.cluster, Workload: reloader.WorkloadRef{Kind: r.kind, Namespace: r.namespace, Name: r.name}, Now: s.now}
	known, err := s.clusters(r.cluster)
	if err != nil || len(known.items) != 1 || known.items[0].Health == verdict.Unknown {
		return verdict.Judge(of)
	}
	at := known.items[0]
	of.Status = &at.ClusterStatus
	if at.Health.IsUp() {
		of.Status.StoredAt = s.now // the server has judged it by its own clock
		of.Live = s.live(of.Workload, at.UID)
	}
	return verdict.Judge(of)
}

// live says what a cluster has of a workload that is not on record; nil if the kubeconfig is not of that cluster.
func (s *session) live(w reloader.WorkloadRef, uid string) *verdict.Live {
	ctx, cancel := context.WithTimeout(s, liveTime)
	defer cancel()
	cluster, err := s.connect(ctx, adoption.Keeps(dialects), kube.Scope{})
	if err != nil || uid == "" || cluster.UID != uid {
		return nil
	}
	found, err := cluster.Read(ctx, w)
	switch {
	case apierrors.IsNotFound(err):
		return &verdict.Live{Lacking: "there is no " + workloadRef("", w).String() + "."}
	case err != nil:
		return nil
	}
	plan := dialects.Compile(found)
	said := &verdict.Live{Asks: plan.OptedIn()}
	if mistakes := (adoption.View{All: dialects, Dialects: dialects}).Mistakes(found); len(mistakes) > 0 {
		said.Typo = mistakes[0].Message
		if !strings.HasSuffix(said.Typo, "?") {
			said.Typo += ": " + mistakes[0].Fix
		}
	}
	return said
}
