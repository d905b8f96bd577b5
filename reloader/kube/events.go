package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// eventBacklog bounds the Events that wait to be sent; more are dropped, since an Event is a courtesy and the record is the truth.
const eventBacklog = 4096

// Announcer writes Kubernetes Events on workloads for each reload, one after the other and when no more reloads come, so that
// patches come first.
type Announcer struct {
	cluster *Cluster
	logger  *slog.Logger
	queue   chan announced
	dropped prometheus.Counter
}

// announced is an Event that waits to be sent, and the ID of the reload that it tells of; empty if it tells of none.
type announced struct {
	event  *corev1.Event
	reload string
}

// NewAnnouncer returns an Announcer that sends while Run runs.
func NewAnnouncer(c *Cluster, logger *slog.Logger, r prometheus.Registerer) *Announcer {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "reroll_events_dropped_total", Help: "Kubernetes Events that were not written because too many waited.",
	})
	r.MustRegister(dropped)
	return &Announcer{cluster: c, logger: logger, queue: make(chan announced, eventBacklog), dropped: dropped}
}

const (
	// announceQuiet is how long no reload must have been announced before Events are sent: a fan-out's patches come first.
	announceQuiet = 200 * time.Millisecond
	// announceMaxWait bounds that wait.
	announceMaxWait = 30 * time.Second
)

// lastEvents bounds the time in which Events that wait at the end are still sent.
const lastEvents = 5 * time.Second

// Run sends Events until ctx ends, and then those that wait, as far as there is time.
func (a *Announcer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			a.sendLast(ctx, nil)
			return nil
		case first := <-a.queue:
			batch := a.gather(ctx, first)
			for len(batch) > 0 && ctx.Err() == nil {
				a.send(ctx, batch[0])
				batch = batch[1:]
			}
			if ctx.Err() != nil {
				a.sendLast(ctx, batch)
				return nil
			}
		}
	}
}

// sendLast sends batch and what is queued behind it, although ctx has ended.
func (a *Announcer) sendLast(ctx context.Context, batch []announced) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEvents)
	defer cancel()
	for ctx.Err() == nil {
		if len(batch) == 0 {
			select {
			case e := <-a.queue:
				batch = append(batch, e)
			default:
				return
			}
		}
		a.send(ctx, batch[0])
		batch = batch[1:]
	}
}

// gather returns first and what is announced after it until there is a pause.
func (a *Announcer) gather(ctx context.Context, first announced) []announced {
	batch := []announced{first}
	longest := time.NewTimer(announceMaxWait)
	defer longest.Stop()
	quiet := time.NewTimer(announceQuiet)
	defer quiet.Stop()
	for len(batch) < eventBacklog {
		select {
		case e := <-a.queue:
			batch = append(batch, e)
			quiet.Reset(announceQuiet)
		case <-quiet.C:
			return batch
		case <-longest.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

func (a *Announcer) send(ctx context.Context, e announced) {
	_, err := a.cluster.client.CoreV1().Events(e.event.Namespace).Create(ctx, e.event, metav1.CreateOptions{FieldManager: "reroll"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		a.logger.Warn("event was not written", "workload", e.event.InvolvedObject.Name, "reload", e.reload, "error", err)
	}
}

// Announce queues an Event for each config behind a reload that rolled its workload or was refused. It does not block.
func (a *Announcer) Announce(w *workload.Workload, r reloader.Reload) {
	for _, e := range eventsOf(w, r) {
		a.enqueue(announced{e, r.ID})
	}
}

// Complain queues a Warning about what is wrong with a workload's own settings. It does not block. As long as the cluster keeps an
// Event about the same problem of the same workload, there is no second one, whoever complains.
func (a *Announcer) Complain(w *workload.Workload, problem string) {
	a.enqueue(announced{event: complaintOf(w, problem, time.Now())})
}

func (a *Announcer) enqueue(e announced) {
	if a.cluster.options.DryRun {
		return
	}
	select {
	case a.queue <- e:
	default:
		a.dropped.Inc()
	}
}

// The reasons of Events.
const (
	eventReloaded = "Reloaded"
	eventFailed   = "ReloadFail"
	eventHeld     = "ReloadHeld"
)

// eventSources are the components that Events about configs are known to come from.
var eventSources = map[reloader.ConfigKind]string{
	reloader.ConfigMap:           "reloader-configmaps",
	reloader.Secret:              "reloader-secrets",
	reloader.SecretProviderClass: "reloader-secretproviderclasspodstatuses", // the resource that is watched
}

// eventsOf returns an Event for each config behind r, in the order of their names; none if r is nothing that people have to know. Content
// that comes back is the same reload for another change.
func eventsOf(w *workload.Workload, r reloader.Reload) []*corev1.Event {
	failed, waits := false, false
	switch r.Outcome {
	case reloader.ReasonReloaded, reloader.ReasonPaused:
	case reloader.ReasonRefused, reloader.ReasonInvalid, reloader.ReasonFailing, reloader.ReasonReplicaUnchanged:
		failed = true
	case reloader.ReasonWaitingForReplica:
		waits = true
	default:
		return nil
	}
	var events []*corev1.Event
	for _, c := range byConfig(r.Causes) {
		e := newEvent(w, r.DecidedAt, r.ID, strconv.FormatInt(r.Generation, 10), c.ChangeID, c.Config.String())
		e.Type, e.Reason, e.Source.Component = corev1.EventTypeNormal, eventReloaded, eventSources[c.Config.Kind]
		text := describe(w, c, "Updated")
		if failed {
			e.Type, e.Reason = corev1.EventTypeWarning, eventFailed
			text = describe(w, c, "not updated:") + ": " + r.Message
		}
		if waits {
			e.Reason = eventHeld
			text = describe(w, c, "not yet updated:") + ": " + r.Message
		}
		e.Message = bounded(text)
		events = append(events, e)
	}
	return events
}

func complaintOf(w *workload.Workload, problem string, at time.Time) *corev1.Event {
	e := newEvent(w, at, problem)
	e.Type, e.Reason, e.Source.Component, e.Message = corev1.EventTypeWarning, eventFailed, "reroll", bounded(problem)
	return e
}

// longestEventPrefix leaves room behind the workload's name for what tells its Events apart.
const longestEventPrefix = 200

// newEvent returns an Event on w whose name is always the same for the same parts.
func newEvent(w *workload.Workload, at time.Time, parts ...string) *corev1.Event {
	hash := fnv.New64a()
	for _, part := range append(parts, string(w.UID)) {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	prefix := strings.TrimRight(w.Name[:min(len(w.Name), longestEventPrefix)], "-.")
	kind, _ := workload.KindNamed(w.Kind)
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprintf("%s.%016x", prefix, hash.Sum64())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: kind.Resource.GroupVersion().String(), Kind: w.Kind, Namespace: w.Namespace, Name: w.Name,
			UID: w.UID, ResourceVersion: w.ResourceVersion,
		},
		ReportingController: "reroll.dev/dispatcher",
		FirstTimestamp:      metav1.NewTime(at), LastTimestamp: metav1.NewTime(at), Count: 1,
	}
}

// byConfig merges the causes of the same config into one with the candidates of all, ordered by config.
func byConfig(causes []reloader.Cause) []reloader.Cause {
	sorted := slices.SortedStableFunc(slices.Values(causes), func(a, b reloader.Cause) int {
		return strings.Compare(a.Config.String(), b.Config.String())
	})
	var merged []reloader.Cause
	for _, c := range sorted {
		last := len(merged) - 1
		if last < 0 || merged[last].Config != c.Config {
			merged = append(merged, c)
			continue
		}
		merged[last].Candidates = slices.Concat(merged[last].Candidates, c.Candidates)
	}
	return merged
}

// describe says which config changed, what became of w, and who may have changed it. Up to the semicolon it is what alert rules and
// scripts of Stakater Reloader's users look for.
func describe(w *workload.Workload, c reloader.Cause, done string) string {
	text := fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s', %s '%s' of type '%s' in namespace '%s'",
		c.Config.Name, strings.ToUpper(string(c.Config.Kind)), c.Config.Namespace, done, w.Name, w.Kind, w.Namespace)
	var actors []string
	sure := false
	for _, who := range c.Candidates {
		actors = append(actors, who.Actor.User)
		sure = sure || who.Basis != reloader.BasisAmbiguous
	}
	slices.Sort(actors)
	switch actors = slices.Compact(actors); {
	case len(actors) == 0:
		return text
	case len(actors) == 1 && sure:
		return text + "; changed by " + actors[0]
	case len(actors) == 1:
		return text + "; perhaps changed by " + actors[0]
	}
	return text + "; changed by one of " + strings.Join(actors, ", ")
}

// maxEventMessage is the API server's limit in bytes.
const maxEventMessage = 1024

// bounded cuts text to the limit, between two characters.
func bounded(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxEventMessage)], "")
}
