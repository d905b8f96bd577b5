package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// maxEvents bounds the Events that wait to be sent. More are dropped: the records are complete without them.
	maxEvents = 16_384
	// eventTime bounds the time to send one, and lastEvents that for those that wait at the end.
	eventTime, lastEvents = 5 * time.Second, 5 * time.Second
	// announcers is how many Events are sent at the same time.
	announcers = 8
)

// Announcer writes Kubernetes Events on workloads, from one bounded queue and with a rate limit of their own, so that they delay no roll.
type Announcer struct {
	cluster *Cluster
	dropped prometheus.Counter
	waiting chan *corev1.Event
}

// NewAnnouncer returns an Announcer that sends while Run runs.
func NewAnnouncer(c *Cluster, r prometheus.Registerer) *Announcer {
	dropped := promauto.With(r).NewCounter(prometheus.CounterOpts{
		Name: "reroll_events_dropped_total", Help: "Kubernetes Events that were not written because too many waited.",
	})
	return &Announcer{cluster: c, dropped: dropped, waiting: make(chan *corev1.Event, maxEvents)}
}

// Announce queues an Event for each config behind a reload that rolled its workload or was refused. It does not block.
func (a *Announcer) Announce(w *workload.Workload, r reloader.Reload) {
	for _, e := range eventsOf(w, r) {
		a.enqueue(e)
	}
}

// Complain queues a Warning about a workload's settings. It does not block. While the cluster keeps an Event about the same problem of the
// same workload, no second one is written.
func (a *Announcer) Complain(w *workload.Workload, problem string) {
	a.enqueue(warningOf(w, eventInvalid, problem, time.Now()))
}

// Stalled queues a Warning that the rollout of a reload has stalled. It does not block.
func (a *Announcer) Stalled(w *workload.Workload, problem string) {
	a.enqueue(warningOf(w, eventFailed, problem, time.Now()))
}

func (a *Announcer) enqueue(event *corev1.Event) {
	if a.cluster.options.DryRun {
		return
	}
	select {
	case a.waiting <- event:
	default:
		a.dropped.Inc()
	}
}

// Run sends Events until ctx ends, and then those that wait, as far as there is time.
func (a *Announcer) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range announcers {
		workers.Go(func() {
			for {
				select {
				case event := <-a.waiting:
					a.send(context.WithoutCancel(ctx), event)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	workers.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEvents)
	defer cancel()
	for ending.Err() == nil && len(a.waiting) > 0 {
		a.send(ending, <-a.waiting)
	}
	return nil
}

func (a *Announcer) send(ctx context.Context, event *corev1.Event) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	_, err := a.cluster.events.CoreV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		a.cluster.options.Logger.Warn("event was not written", "namespace", event.Namespace, "workload", event.InvolvedObject.Name, "error", err)
	}
}

// The reasons of Events. The first two are those of Stakater Reloader, with the same meaning: existing alerts match them. It has no Event
// about faulty annotations, so that these have a reason of their own.
const (
	eventReloaded = "Reloaded"
	eventFailed   = "ReloadFail"
	eventInvalid  = "InvalidSettings"
)

// eventSource is the component that Events about configs of a kind are known to come from: it is named after the resource that is watched.
func eventSource(kind reloader.ConfigKind) string { return "reloader-" + kind.Info().TellingResource() }

// eventsOf returns an Event for each config behind r; none if r has an outcome that is no Event. Content that
// comes back is the same reload for another change.
func eventsOf(w *workload.Workload, r reloader.Reload) []*corev1.Event {
	severity, reason, did, more := corev1.EventTypeNormal, eventReloaded, "Updated", ""
	if r.Pods != nil {
		more = "; pods: " + r.Pods.String()
	}
	switch {
	case r.Outcome == reloader.ReasonReloaded, r.Outcome == reloader.ReasonPaused:
	case slices.Contains(reloader.HotReasons, r.Outcome):
		did = "reloaded without a restart"
	case r.Outcome == reloader.ReasonRefused, r.Outcome == reloader.ReasonFailing, r.Outcome == reloader.ReasonReloadFailed:
		severity, reason, did, more = corev1.EventTypeWarning, eventFailed, "not updated:", more+": "+r.Message
	default:
		return nil
	}
	var events []*corev1.Event
	for _, c := range byConfig(r.Causes) {
		e := newEvent(w, r.DecidedAt, r.ID, c.ChangeID, c.Config.String())
		e.Type, e.Reason, e.Source.Component = severity, reason, eventSource(c.Config.Kind)
		e.Message = bounded(describe(w, c, did) + more)
		events = append(events, e)
	}
	return events
}

func warningOf(w *workload.Workload, reason, problem string, at time.Time) *corev1.Event {
	e := newEvent(w, at, problem)
	e.Type, e.Reason, e.Source.Component, e.Message = corev1.EventTypeWarning, reason, "reroll", bounded(problem)
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

// byConfig merges the causes of the same config into one with the candidates of all.
func byConfig(causes []reloader.Cause) (merged []reloader.Cause) {
	for _, c := range causes {
		i := slices.IndexFunc(merged, func(o reloader.Cause) bool { return o.Config == c.Config })
		if i < 0 {
			merged = append(merged, c)
		} else {
			merged[i].Candidates = slices.Concat(merged[i].Candidates, c.Candidates)
		}
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
		sure = sure || who.Sure
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
