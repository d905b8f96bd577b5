package cli

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
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
	// checkPause is how long is waited before the status is read again.
	checkPause = 2 * time.Second
)

// auditCheck follows the audit feed of a cluster until it is proven.
type auditCheck struct {
	*globals
	limit, pause time.Duration
	// bound bounds a look by the limit.
	bound func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

func auditCheckCommand(g *globals) *cobra.Command {
	return (&auditCheck{globals: g, pause: checkPause, bound: context.WithTimeout}).command()
}

func (c *auditCheck) command() *cobra.Command {
	cmd := take(&cobra.Command{
		Use:   "check",
		Short: "Wait for an audit event from every API server, and say what is missing",
		Long: "Follow the audit events until a canary has come through every API server. A canary is a write of Reroll's own ConfigMap or Secret, " +
			"whose audit event must come back. It exits with 0 if the feed is proven, and with 1 otherwise.",
		Example: "  reroll audit check\n  reroll audit check --reroll-namespace ops --timeout 10m",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}, takesCluster, "server,reroll-namespace,cluster")
	cmd.Flags().DurationVar(&c.limit, "timeout", checkTime, "how long to wait for a canary")
	return cmd
}

func (c *auditCheck) run(cmd *cobra.Command) error {
	if c.limit <= 0 {
		return usagef("--timeout must be positive")
	}
	return c.asking(cmd, c.follow)
}

func (c *auditCheck) follow(s *session) error {
	if err := s.checkCluster(c.cluster); err != nil {
		return err
	}
	ctx, cancel := c.bound(s.Context, c.limit)
	defer cancel()
	s.Context = ctx
	w := &feedWatch{told: map[string]string{}, out: newLines(s.cmd.OutOrStdout())}
	switch err := wait.PollUntilContextCancel(ctx, c.pause, true, func(context.Context) (bool, error) { return w.look(s) }); {
	case err == nil:
		w.out.add(signs[fine], text("The audit feed of cluster "+w.last.Cluster+" is proven: a canary came back through every API server."))
		return w.out.err
	case s.Err() == nil:
		return err
	case s.cmd.Context().Err() != nil: // the user has stopped it
		w.out.add(signs[unclear], text("Stopped: the audit feed is not proven yet."))
	default:
		w.missing().show(w.out)
	}
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

// feedStates say what a state of a feed means.
var feedStates = map[string]struct {
	grade
	text string
}{
	"silent":    {wrong, "it was written, and its audit event does not come back; waiting"},
	"notSetUp":  {unclear, "it was written, and no audit event has ever come from there; waiting"},
	"refused":   {wrong, "it is not accepted: the API server is away, or patch of the ConfigMap or the Secret reroll-canary is not granted; waiting"},
	"waiting":   {unclear, "none has come back yet; waiting"},
	"heard":     {fine, "it came back"},
	"heardOnce": {unclear, "one came back at %s; waiting for the next"},
}

// look reads the status of the cluster, and says what is new. The feed is proven once a canary has come back through every API server since the first
// look.
func (w *feedWatch) look(s *session) (proven bool, err error) {
	q := url.Values{}
	set(q, "name", s.cluster)
	l, err := list[view.Cluster](s, s.client, "clusters", q, 0)
	switch {
	case err != nil:
		return false, err
	case len(l.items) == 0:
		w.tell("status", unclear, "waiting for the first status of the dispatcher")
		return false, nil
	case len(l.items) > 1:
		return false, usagef("the audit feed of which cluster? Name it with --cluster")
	}
	at := l.items[0]
	w.last = &at
	if w.first == nil {
		w.first = &at
		w.tell("cluster "+at.Cluster, fine, "its dispatcher runs version "+cmp.Or(at.Version, dash))
	}
	if at.Health == verdict.Away {
		w.tell("cluster "+at.Cluster, wrong, "its dispatcher has published no status lately")
		return false, nil
	}
	if w.heard() {
		w.tell("audit events", fine, "they come in, from API servers or log shippers")
	}
	if len(at.Feeds) == 0 {
		w.tell("canary", unclear, "none has been sent yet")
		return false, nil
	}
	proven = true
	for _, feed := range at.Feeds {
		before := func(f reloader.FeedStatus) bool { return f.Address == feed.Address && !feed.LastAt.After(f.LastAt) }
		if feed.State == "heard" && slices.ContainsFunc(w.first.Feeds, before) {
			feed.State = "heardOnce"
		}
		state, known := feedStates[feed.State]
		if !known {
			state = feedStates["waiting"]
		}
		w.tell("canary through "+feed.Address, state.grade, strings.Replace(state.text, "%s", exactly(feed.LastAt), 1))
		proven = proven && state.grade == fine
	}
	return proven, nil
}

// heard reports whether audit events have come since the look began.
func (w *feedWatch) heard() bool {
	hints := func(c *view.Cluster) (n int64) {
		for _, source := range c.Sources {
			if source.Source == reloader.SourceAudit {
				n += source.Hints
			}
		}
		return n
	}
	return hints(w.last) > hints(w.first)
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
