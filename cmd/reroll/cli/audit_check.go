package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

const (
	// checkTime is how long the feed is followed: a canary each minute, two intervals until it is overdue, and a status each half a minute.
	checkTime = 5 * time.Minute
	// checkPause is how long is waited before the status is read again, if the feed is followed long enough for a few looks.
	checkPause = 2 * time.Second
)

func auditCheckCommand(g *globals) *cobra.Command {
	var limit time.Duration
	cmd := take(&cobra.Command{
		Use:   "check",
		Short: "Wait for an audit event from every API server, and say what is missing",
		Long: "Follow the audit events until a canary has come through every API server. A canary is a write of\nReroll's own ConfigMap or Secret, " +
			"whose audit event must come back. It exits with 0 if the feed is\nproven, and with 1 otherwise.",
		Example: "  reroll audit check\n  reroll audit check --reroll-namespace ops --timeout 10m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit <= 0 {
				return usagef("--timeout must be positive")
			}
			return g.asking(cmd, func(s *session) error { return s.followFeed(limit) })
		},
	}, takesCluster, "server,reroll-namespace,cluster")
	cmd.Flags().DurationVar(&limit, "timeout", checkTime, "how long to wait for a canary")
	return cmd
}

// followFeed follows the audit feed of a cluster until it is proven, or the time is over.
func (s *session) followFeed(limit time.Duration) error {
	if err := s.checkCluster(s.cluster); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.Context, limit)
	defer cancel()
	s.Context = ctx
	w := &feedWatch{told: map[string]string{}, out: newLines(s.cmd.OutOrStdout())}
	err := wait.PollUntilContextCancel(ctx, min(checkPause, limit/4), true, func(context.Context) (bool, error) { return w.look(s) })
	switch {
	case err == nil:
		w.out.add(signs[fine], text("The audit feed of cluster "+w.last.Cluster+" is proven: a canary came back through every API server."))
		return w.out.err
	case ctx.Err() == nil:
		return err
	}
	w.missing().show(w.out)
	return errors.Join(w.out.err, errAnswer)
}

type feedWatch struct {
	// first and last are the cluster as it was seen first and last.
	first, last *view.Cluster
	// told is what was last said of each thing, so that it is said once.
	told map[string]string
	out  *lines
}

func (w *feedWatch) tell(what string, v grade, message string) {
	if w.told[what] != message {
		w.told[what] = message
		w.out.add(signs[v], cell{what + ": ", bold}, text(message))
	}
}

// look reads the status of the cluster, and says what is new. The feed is proven once a canary has come back through every API server since the first
// look.
func (w *feedWatch) look(s *session) (proven bool, err error) {
	l, err := s.clusters(s.cluster)
	switch {
	case err != nil:
		return false, err
	case len(l.items) == 0:
		w.tell("status", unclear, "waiting for the first status of the dispatcher")
		return false, nil
	case len(l.items) > 1:
		return false, usagef("the audit feed of which cluster? Name it with --cluster")
	}
	w.last = &l.items[0]
	w.first = cmp.Or(w.first, w.last)
	if w.last.Health == verdict.Away {
		w.tell("cluster "+w.last.Cluster, wrong, "its dispatcher has published no status lately")
		return false, nil
	}
	if len(w.last.Feeds) == 0 {
		w.tell("canary", unclear, "none has been sent yet")
		return false, nil
	}
	proven = true
	for _, feed := range w.last.Feeds {
		v, message := unclear, "waiting for it to come back"
		switch {
		case feed.State == "silent":
			v, message = wrong, "it was written, and its audit event does not come back; waiting"
		case feed.State == "notSetUp":
			message = "it was written, and no audit event has ever come from there; waiting"
		case feed.State == "refused":
			v, message = wrong, "it is not accepted: the API server is away, or patch of the ConfigMap or the Secret reroll-canary is not granted; waiting"
		case feed.State == "heard" && feed.LastAt.After(w.first.At):
			v, message = fine, "it came back"
		}
		w.tell("canary through "+feed.Address, v, message)
		proven = proven && v == fine
	}
	return proven, nil
}

// heard reports whether audit events have come since the first look.
func (w *feedWatch) heard() bool {
	return slices.ContainsFunc(w.last.Sources, func(of reloader.SourceStatus) bool {
		return of.Source == reloader.SourceAudit && of.LastAt.After(w.first.At)
	})
}

// missing says why no canary has come back.
func (w *feedWatch) missing() (found findings) {
	switch {
	case w.last == nil, w.last.Health == verdict.Away:
		found.add("dispatcher", wrong, "it has published no status lately", "reroll check")
	case len(w.last.Feeds) == 0:
		found.add("canary", wrong, "none are sent, so that nothing proves the feed", "set ingest.canaryInterval=1m")
	case w.heard():
		found.add("audit events", careful, "some arrive, but no canary: they come from another API server, or the policy leaves out Reroll's own ConfigMaps or Secrets",
			"give every API server the same files, with the policy that reroll audit setup writes")
	default:
		found.add("audit events", wrong, "none has come in since this began",
			"see that each API server runs with the five audit flags; kubectl get --raw /metrics | grep apiserver_audit says how many events it has made (apiserver_audit_event_total), and could not post (apiserver_audit_error_total)")
	}
	return found
}
