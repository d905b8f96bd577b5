package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
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
	question
	cluster, files string
	limit, pause   time.Duration
	// bound bounds a look by the limit.
	bound func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

func auditCheckCommand(version string) *cobra.Command {
	return (&auditCheck{question: question{version: version}, pause: checkPause, bound: context.WithTimeout}).command()
}

func (c *auditCheck) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Follow the audit events until a canary has come through every API server, or say what is missing",
		Long: "Follow the audit events until a canary has come through every API server. A canary is a write of Reroll's own ConfigMap or Secret, whose audit event\n" +
			"must come back. What happens is printed as it happens. If no canary comes back in time, the policy that reroll audit setup has written is examined.\n" +
			"It ends with code 0 if the feed is proven, and with 1 otherwise.",
		Example: "  reroll audit check\n  reroll audit check -n reroll --files reroll-audit --timeout 10m\n  reroll audit check --server http://127.0.0.1:8080 --cluster east",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer c.close()
			return c.run(cmd)
		},
	}
	c.bindServer(cmd)
	f := cmd.Flags()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster through which the server is reached, unless --server is given")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&c.own, "namespace", "n", "reroll", "Reroll's own namespace")
	f.StringVar(&c.cluster, "cluster", "", "the cluster, if the server knows several")
	f.StringVar(&c.files, "files", auditFolder, "folder that reroll audit setup has written, whose policy is examined if no canary comes back")
	f.DurationVar(&c.limit, "timeout", checkTime, "how long to wait for a canary")
	_ = cmd.RegisterFlagCompletionFunc("cluster", c.complete(clusterNames))
	return cmd
}

func (c *auditCheck) run(cmd *cobra.Command) error {
	if c.limit <= 0 {
		return Usage(errors.New("--timeout must be positive"))
	}
	c.timeout = requestTime
	s, err := c.open(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := c.bound(s.Context, c.limit)
	defer cancel()
	s.Context = ctx
	out := newLines(cmd.OutOrStdout(), coloured(cmd.OutOrStdout()))
	w := &feedWatch{began: s.now, told: map[string]string{}, out: out}
	end, err := c.follow(s, w)
	if err == nil && end == feedProven {
		out.add(signs[fine], text("The audit feed of cluster "+w.last.Cluster+" is proven: a canary came back through every API server."))
		return out.err
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	if cmd.Context().Err() != nil { // somebody has stopped it, and does not want to wait for more
		out.add(signs[unclear], text("Stopped: the audit feed is not proven yet."))
		return errors.Join(out.err, errAnswer)
	}
	s.Context = cmd.Context()
	found := c.missing(w)
	for _, one := range found {
		out.add(signs[one.Verdict], cell{one.Check + ": ", bold}, text(one.Message))
		if one.Mend != "" {
			out.add(text("    → " + one.Mend))
		}
	}
	if out.err != nil {
		return out.err
	}
	return errAnswer
}

// feedEnd is how following a feed ends.
type feedEnd int

const (
	feedOpen feedEnd = iota
	feedProven
	// feedHopeless is when no canary can come.
	feedHopeless
)

// follow reads the status of the cluster until its feed is proven, or no canary can come.
func (c *auditCheck) follow(s *session, w *feedWatch) (feedEnd, error) {
	for {
		one, err := c.readCluster(s)
		if err == nil {
			if end := w.see(one); end != feedOpen || w.out.err != nil {
				return end, w.out.err
			}
		} else if s.Err() == nil && !w.isPatient(err) {
			return feedOpen, err
		}
		select {
		case <-s.Done():
			return feedOpen, s.Err()
		case <-time.After(c.pause):
		}
	}
}

// readCluster returns the cluster that is meant.
func (c *auditCheck) readCluster(s *session) (view.Cluster, error) {
	clusters, err := list[view.Cluster](s, s.client, "/api/v1/clusters", nil, 0, silently)
	if err != nil {
		return view.Cluster{}, err
	}
	var names []string
	for _, one := range clusters.items {
		if one.Cluster == c.cluster || c.cluster == "" && len(clusters.items) == 1 {
			return one, nil
		}
		names = append(names, one.Cluster)
	}
	if len(names) == 0 {
		return view.Cluster{}, errNoStatus
	}
	if c.cluster == "" {
		return view.Cluster{}, Usage(fmt.Errorf("which cluster? Name it with --cluster: %s", strings.Join(names, ", ")))
	}
	return view.Cluster{}, Usage(fmt.Errorf("--cluster: there is no cluster %s: %s", c.cluster, strings.Join(names, ", ")))
}

// errNoStatus is over once a dispatcher has published its first status.
var errNoStatus = errors.New("no dispatcher has published its status yet")

// feedWatch is what was seen of a feed.
type feedWatch struct {
	began time.Time
	// first and last are the cluster as it was seen first and last.
	first, last *view.Cluster
	// told is what was last said of each thing, so that it is said once.
	told map[string]string
	out  *lines
}

// isPatient reports whether an error may pass: a server that was there, or a dispatcher that has just started.
func (w *feedWatch) isPatient(err error) bool {
	if errors.Is(err, errNoStatus) {
		w.tell("status", unclear, "waiting for the first status of the dispatcher")
		return true
	}
	var refused *refusal
	if w.first == nil || errors.As(err, &refused) && refused.status < http.StatusInternalServerError {
		return false
	}
	w.tell("API", careful, "it does not answer: "+err.Error())
	return true
}

func (w *feedWatch) tell(what string, v grade, message string) {
	if w.told[what] != message {
		w.told[what] = message
		w.out.add(signs[v], cell{what + ": ", bold}, text(message))
	}
}

// see takes note of the status of the cluster, and says what is new.
func (w *feedWatch) see(one view.Cluster) feedEnd {
	if w.first == nil {
		w.first = &one
		w.tell("cluster "+one.Cluster, fine, "its dispatcher runs version "+orDash(one.Version))
	}
	w.last = &one
	if one.Health == verdict.Away {
		w.tell("cluster "+one.Cluster, wrong, "its dispatcher has published no status lately")
		return feedOpen
	}
	if w.heardSince() {
		w.tell("audit events", fine, "they come in, from API servers or log shippers")
	}
	if len(one.Feeds) == 0 {
		if one.At.After(w.first.At) { // it had the time for a first one
			return feedHopeless
		}
		w.tell("canary", unclear, "none has been sent yet")
		return feedOpen
	}
	proven := true
	for _, feed := range one.Feeds {
		if w.seeFeed(feed) != feedProven {
			proven = false
		}
	}
	if proven {
		return feedProven
	}
	return feedOpen
}

// seeFeed says what is new of one API server. It is proven by a canary that came back after the look began.
func (w *feedWatch) seeFeed(feed reloader.FeedStatus) feedEnd {
	check := "canary through " + feed.Address
	switch feed.State {
	case "heard":
		if i := slices.IndexFunc(w.first.Feeds, func(f reloader.FeedStatus) bool { return f.Address == feed.Address }); i >= 0 && !feed.LastAt.After(w.first.Feeds[i].LastAt) {
			w.tell(check, unclear, "one came back at "+exactly(feed.LastAt)+"; waiting for the next")
			return feedOpen
		}
		w.tell(check, fine, "it came back")
		return feedProven
	case "silent":
		w.tell(check, wrong, "it was written, and its audit event does not come back; waiting")
	case "notSetUp":
		w.tell(check, unclear, "it was written, and no audit event has ever come from there; waiting")
	case "refused":
		w.tell(check, wrong, "it is not accepted: the API server is away, or patch of the ConfigMap or the Secret reroll-canary is not granted; waiting")
	default:
		w.tell(check, unclear, "none has come back yet; waiting")
	}
	return feedOpen
}

// heardSince reports whether audit events have come since the look began.
func (w *feedWatch) heardSince() bool { return audited(w.last) > audited(w.first) }

// audited is how many hints came from audit events.
func audited(c *view.Cluster) (n int64) {
	if c == nil {
		return 0
	}
	for _, source := range c.Sources {
		if source.Source == "audit" {
			n += source.Hints
		}
	}
	return n
}

// missing says why no canary has come back, as far as that can be found out from here.
func (c *auditCheck) missing(w *feedWatch) (found findings) {
	switch {
	case w.last == nil:
		found.add("dispatcher", wrong, "it has published no status", "reroll doctor")
		return found
	case w.last.Health == verdict.Away:
		found.add("dispatcher", wrong, "it has published no status lately", "reroll doctor")
		return found
	case len(w.last.Feeds) == 0:
		found.add("canary", wrong, "none are sent, so that nothing proves the feed", "set ingest.canaryInterval=1m in the chart's values (--canary-interval of the dispatcher)")
		return found
	case w.heardSince():
		found.add("audit events", careful, "some come in, and no canary among them: they are of another API server, or the policy leaves out ConfigMaps or Secrets of namespace "+c.own,
			"give every API server the same files, and see what the policy says below")
	default:
		found.add("audit events", wrong, "none has come in since this began",
			"see that each API server runs with the five audit flags; kubectl get --raw /metrics | grep apiserver_audit says how many events it has made (apiserver_audit_event_total), and could not post (apiserver_audit_error_total)")
	}
	policy, err := readFile(filepath.Join(c.files, distribution.PolicyFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		found.add("audit policy", skipped, "there is none in "+c.files, "give the folder with --files; reroll audit setup --for DISTRIBUTION writes it")
	case err != nil:
		found.add("audit policy", unclear, err.Error(), "")
	default:
		found.checkPolicy(policy, c.own)
	}
	return found
}
