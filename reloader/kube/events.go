package kube

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// Announcer writes a Kubernetes Event on a workload for each reload, one after the other and when no more reloads come, so that
// patches come first.
type Announcer struct {
	cluster *Cluster
	logger  *slog.Logger
	queue   chan *corev1.Event
	dropped prometheus.Counter
}

// NewAnnouncer returns an Announcer that sends while Run runs.
func NewAnnouncer(c *Cluster, logger *slog.Logger, r prometheus.Registerer) *Announcer {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "reroll_events_dropped_total", Help: "Kubernetes Events that were not written because too many waited.",
	})
	r.MustRegister(dropped)
	return &Announcer{cluster: c, logger: logger, queue: make(chan *corev1.Event, eventBacklog), dropped: dropped}
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
func (a *Announcer) sendLast(ctx context.Context, batch []*corev1.Event) {
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
func (a *Announcer) gather(ctx context.Context, first *corev1.Event) []*corev1.Event {
	batch := []*corev1.Event{first}
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

func (a *Announcer) send(ctx context.Context, e *corev1.Event) {
	_, err := a.cluster.client.CoreV1().Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{FieldManager: "reroll"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		a.logger.Warn("event was not written", "workload", e.InvolvedObject.Name, "error", err)
	}
}

// Announce queues the Event of a reload that rolled its workload or was refused. It does not block.
func (a *Announcer) Announce(w *workload.Workload, r reloader.Reload) {
	e := eventOf(w, r)
	if e == nil || a.cluster.options.DryRun {
		return
	}
	select {
	case a.queue <- e:
	default:
		a.dropped.Inc()
	}
}

func eventOf(w *workload.Workload, r reloader.Reload) *corev1.Event {
	e := &corev1.Event{Type: corev1.EventTypeNormal, Reason: "Reloaded", Message: describe(r)}
	switch r.Outcome {
	case reloader.ReasonReloaded:
	case reloader.ReasonRefused, reloader.ReasonInvalid:
		e.Type, e.Reason, e.Message = corev1.EventTypeWarning, "ReloadFail", describe(r)+": "+r.Message
	default:
		return nil
	}
	kind, _ := workload.KindNamed(w.Kind)
	e.ObjectMeta = metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name + "." + strings.TrimPrefix(r.ID, "r-")}
	e.InvolvedObject = corev1.ObjectReference{
		APIVersion: kind.Resource.GroupVersion().String(), Kind: w.Kind, Namespace: w.Namespace, Name: w.Name,
		UID: w.UID, ResourceVersion: w.ResourceVersion,
	}
	e.Source = corev1.EventSource{Component: "reroll"}
	e.ReportingController = "reroll.dev/dispatcher"
	e.FirstTimestamp, e.LastTimestamp, e.Count = metav1.NewTime(r.DecidedAt), metav1.NewTime(r.DecidedAt), 1
	e.ObjectMeta.Name = strings.ToLower(e.ObjectMeta.Name)
	e.Message = strings.ToValidUTF8(e.Message[:min(len(e.Message), maxEventMessage)], "")
	return e
}

// maxEventMessage is the API server's limit.
const maxEventMessage = 1024

// describe says in one sentence which configs changed, and by whom.
func describe(r reloader.Reload) string {
	var configs, actors []string
	for _, c := range r.Causes {
		configs = append(configs, fmt.Sprintf("%s %s", c.Config.Kind, c.Config.Name))
		for _, who := range c.Candidates {
			actors = append(actors, who.Actor.User)
		}
	}
	slices.Sort(configs)
	slices.Sort(actors)
	text := "Changed: " + strings.Join(slices.Compact(configs), ", ")
	switch actors = slices.Compact(actors); len(actors) {
	case 0:
		return text
	case 1:
		return text + "; by " + actors[0]
	}
	return text + "; by one or more of " + strings.Join(actors, ", ")
}
