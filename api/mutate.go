package api

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// Commands carries commands to the dispatchers of clusters.
type Commands interface {
	// Command returns what became of c. It fails with ErrNobodyListens if nobody takes c now; after any other error, c may have been
	// carried out.
	Command(ctx context.Context, c reloader.Command) (reloader.CommandAnswer, error)
}

// ErrNobodyListens means that no dispatcher takes commands for a cluster.
var ErrNobodyListens = errors.New("nobody takes commands")

// actions are what can be done besides reading, each with the resource that it is done to.
var actions = []struct {
	verb     reloader.CommandVerb
	resource string
}{
	{reloader.CommandReload, resourceWorkloads},
	{reloader.CommandRetry, resourceWorkloads},
	{reloader.CommandRetry, resourceConfigs},
	{reloader.CommandPause, resourcePauses},
	{reloader.CommandResume, resourcePauses},
	{reloader.CommandFreeze, resourceClusters},
	{reloader.CommandThaw, resourceClusters},
}

// mountMutations registers the routes that change something.
func mountMutations(h huma.API, a *server) {
	const workload, config, cluster = "/api/v1/workloads/{cluster}/{namespace}/{kind}/{name}", "/api/v1/configs/{cluster}/{namespace}/{kind}/{name}", "/api/v1/clusters/{cluster}"
	post(h, workload+"/reload", "reload-workload", "Roll a workload now", a.reloadWorkload)
	post(h, workload+"/retry", "retry-workload", "Try a workload again that could not be patched", a.retryWorkload)
	post(h, config+"/retry", "retry-config", "Go on with the change of a config whose rollouts were halted", a.retryConfig)
	post(h, cluster+"/pause", "pause-workloads", "Hold back the reloads of some workloads for a time", a.pauseWorkloads)
	post(h, cluster+"/resume", "resume-workloads", "End a pause", a.resumeWorkloads)
	post(h, cluster+"/freeze", "freeze-cluster", "Hold back every reload of a cluster", a.freezeCluster)
	post(h, cluster+"/thaw", "thaw-cluster", "Let go what freeze holds back", a.thawCluster)
}

// post registers a route that changes something.
func post[I any](h huma.API, path, id, summary string, handle func(context.Context, *I) (*commandOutput, error)) {
	o := operation(http.MethodPost, path, id, summary, http.StatusNotFound, http.StatusConflict, http.StatusUnsupportedMediaType)
	o.Description = "Only where clients are authenticated; each such operation needs a verb of its own. It is answered when it is done."
	huma.Register(h, o, handle)
}

// CommandHeader is the header of every request that changes something.
type CommandHeader struct {
	Key string `header:"Idempotency-Key" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Tells this request from every other. Repeat it with the same key if no answer came: it is carried out once."`
}

// id returns the ID of the command: the key of who asks, which counts for them alone, or one of our own.
func (h CommandHeader) id(user User) string {
	if h.Key == "" {
		return "k-" + rand.Text()
	}
	return commandID(user.Name, h.Key)
}

// Why is the body of a request that says why.
type Why struct {
	Reason string `json:"reason,omitempty" required:"false" nullable:"true" maxLength:"256" doc:"Why, for those who ask."`
}

type commandOutput struct {
	Body view.Command
}

// command has c carried out for who asks, if they may do deed.
func (a *server) command(ctx context.Context, header CommandHeader, deed Deed, c reloader.Command) (*commandOutput, error) {
	user, ok := userOf(ctx)
	if a.access == nil || a.commands == nil || !ok {
		a.denied.WithLabelValues(deniedReadOnly).Inc()
		return nil, huma.Error403Forbidden("This server only reads: nobody can be told apart here (--auth).")
	}
	deed.Verb = string(c.Verb)
	if err := a.permit(ctx, deed); err != nil {
		return nil, err
	}
	c.ID, c.At = header.id(user), time.Now().UTC()
	if !a.redact {
		c.User = user.Name[:min(len(user.Name), reloader.MaxUserLength)]
	}
	if err := c.Validate(); err != nil {
		return nil, huma.Error422UnprocessableEntity("This cannot be asked: " + err.Error() + ".")
	}
	answer, err := a.commands.Command(ctx, c)
	a.logger.InfoContext(ctx, "command given", "command", c.ID, "reload", answer.ReloadID, "verb", c.Verb, "cluster", c.Cluster, "user", c.User, "result", answer.Result, "error", err)
	if err != nil {
		return nil, commandFailed(c, err)
	}
	return commandAnswered(answer)
}

func commandFailed(c reloader.Command, err error) error {
	detail := "No answer came from the dispatcher of cluster " + c.Cluster + ": it may have been done. Look, or repeat it with the same Idempotency-Key."
	if errors.Is(err, ErrNobodyListens) {
		detail = "No dispatcher of cluster " + c.Cluster + " takes commands now; nothing was done."
	}
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(detail), http.Header{"Retry-After": {retryAfterSeconds}})
}

func commandAnswered(answer reloader.CommandAnswer) (*commandOutput, error) {
	switch answer.Result {
	case reloader.CommandDone:
		return &commandOutput{Body: view.FromCommandAnswer(answer)}, nil
	case reloader.CommandNotFound:
		return nil, huma.Error404NotFound(answer.Message)
	case reloader.CommandRefused:
		return nil, huma.Error409Conflict(answer.Message)
	}
	return nil, huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(answer.Message), http.Header{"Retry-After": {retryAfterSeconds}})
}

// known has c carried out if its subject is on record; who may not do deed learns nothing about that.
func (a *server) known(ctx context.Context, header CommandHeader, deed Deed, c reloader.Command, found bool) (*commandOutput, error) {
	deed.Verb = string(c.Verb)
	if a.access != nil && !found {
		if err := a.permit(ctx, deed); err != nil {
			return nil, err
		}
		return nil, a.missing("object to " + deed.Verb)
	}
	return a.command(ctx, header, deed, c)
}

type workloadCommandInput struct {
	WorkloadPath
	CommandHeader
	Body *Why
}

func (in *workloadCommandInput) deed() Deed {
	return Deed{Resource: resourceWorkloads, Namespace: in.Namespace, Name: in.Name}
}

func (a *server) reloadWorkload(ctx context.Context, in *workloadCommandInput) (*commandOutput, error) {
	return a.commandWorkload(ctx, in, reloader.CommandReload)
}

func (a *server) retryWorkload(ctx context.Context, in *workloadCommandInput) (*commandOutput, error) {
	return a.commandWorkload(ctx, in, reloader.CommandRetry)
}

func (a *server) commandWorkload(ctx context.Context, in *workloadCommandInput, verb reloader.CommandVerb) (*commandOutput, error) {
	_, found := a.records.Workload(in.key())
	c := reloader.Command{Cluster: in.Cluster, Verb: verb, Workload: in.key().Workload, Reason: in.Body.text()}
	return a.known(ctx, in.CommandHeader, in.deed(), c, found)
}

// text returns why, also if nobody said so.
func (w *Why) text() string {
	if w == nil {
		return ""
	}
	return cutText(w.Reason)
}

type configCommandInput struct {
	ConfigPath
	CommandHeader
	Body *Why
}

func (a *server) retryConfig(ctx context.Context, in *configCommandInput) (*commandOutput, error) {
	_, found := a.records.Config(projection.ConfigKey{Cluster: in.Cluster, Config: in.key().Config})
	found = found || a.records.FollowedIn(in.Cluster, in.key().Config) // the follower's dispatcher holds the change back, and not the owner's
	deed := Deed{Resource: resourceConfigs, Namespace: in.Namespace, Name: in.Name}
	c := reloader.Command{Cluster: in.Cluster, Verb: reloader.CommandRetry, Config: in.key().Config, Reason: in.Body.text()}
	return a.known(ctx, in.CommandHeader, deed, c, found)
}
