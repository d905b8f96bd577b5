package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// Limits on Events that wait to be sent. More are dropped, since an Event is a courtesy and the record is the truth.
const (
	// maxEvents bounds those of all namespaces together, maxNamespaceEvents those of one.
	maxEvents, maxNamespaceEvents = 16_384, 4096
	// eventTime bounds the time to send one: an admission webhook may keep it for longer.
	eventTime = 10 * time.Second
	// announcers is the number of namespaces whose Events are sent at the same time.
	announcers = 16
)

const (
	// announceQuiet is how long nothing must have been announced in a namespace before its Events are sent: the patches of a fan-out come first.
	announceQuiet = 200 * time.Millisecond
	// announceMaxWait bounds that wait.
	announceMaxWait = 30 * time.Second
	// lastEvents bounds the time in which Events that wait at the end are still sent.
	lastEvents = 5 * time.Second
)

// Announcer writes Kubernetes Events on workloads. Each namespace has a queue of its own, of which one Event is sent at a time, so that a
// namespace with many Events, or with an admission webhook that does not answer, holds up no other.
type Announcer struct {
	cluster *Cluster
	logger  *slog.Logger
	dropped prometheus.Counter
	// turns has the namespaces with Events that wait.
	turns workqueue.TypedDelayingInterface[string]

	mu      sync.Mutex
	waiting map[string]*announcements
	total   int
	ending  bool
}

// announcements are the Events of a namespace that wait, the oldest first, and when the last one was added.
type announcements struct {
	events []announced
	last   time.Time
}

// announced is an Event that waits to be sent, since when, and the ID of the reload that it is about; empty if there is none.
type announced struct {
	event  *corev1.Event
	reload string
	at     time.Time
}

// NewAnnouncer returns an Announcer that sends while Run runs.
func NewAnnouncer(c *Cluster, logger *slog.Logger, r prometheus.Registerer) *Announcer {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "reroll_events_dropped_total", Help: "Kubernetes Events that were not written because too many waited.",
	})
	r.MustRegister(dropped)
	return &Announcer{
		cluster: c, logger: logger, dropped: dropped, waiting: map[string]*announcements{}, turns: workqueue.NewTypedDelayingQueue[string](),
	}
}

// Run sends Events until ctx ends, and then those that wait, as far as there is time.
func (a *Announcer) Run(ctx context.Context) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers sync.WaitGroup
	for range announcers {
		workers.Go(func() { a.work(sending) })
	}
	<-ctx.Done()
	stop := time.AfterFunc(lastEvents, cancel)
	defer stop.Stop()
	a.mu.Lock()
	a.ending = true
	for namespace := range a.waiting {
		a.turns.Add(namespace)
	}
	a.mu.Unlock()
	a.turns.ShutDown()
	workers.Wait()
	return nil
}

// work sends one Event after the other, each of the namespace whose turn it is.
func (a *Announcer) work(ctx context.Context) {
	for {
		namespace, closed := a.turns.Get()
		if closed {
			return
		}
		for ctx.Err() == nil {
			e, more, wait := a.next(namespace)
			if e.event != nil {
				a.send(ctx, e)
			}
			if more && wait == 0 && a.atEnd() {
				continue // nothing is added to the queue any more
			}
			if more {
				a.turns.AddAfter(namespace, wait)
			}
			break
		}
		a.turns.Done(namespace)
	}
}

func (a *Announcer) atEnd() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ending
}

// next takes the oldest Event of a namespace, unless it still has to wait. more says that there is another one, and wait for how long.
func (a *Announcer) next(namespace string) (e announced, more bool, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.waiting[namespace]
	if w == nil {
		return announced{}, false, 0
	}
	now := time.Now()
	quiet := min(announceQuiet-now.Sub(w.last), announceMaxWait-now.Sub(w.events[0].at))
	if quiet > 0 && !a.ending {
		return announced{}, true, quiet
	}
	e, w.events = w.events[0], w.events[1:]
	a.total--
	if len(w.events) == 0 {
		delete(a.waiting, namespace)
	}
	return e, len(w.events) > 0, 0
}

func (a *Announcer) send(ctx context.Context, e announced) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	_, err := a.cluster.client.CoreV1().Events(e.event.Namespace).Create(ctx, e.event, metav1.CreateOptions{FieldManager: "reroll"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		a.logger.Warn("event was not written", "workload", e.event.InvolvedObject.Name, "reload", e.reload, "error", err)
	}
}

func (a *Announcer) enqueue(event *corev1.Event, reload string) {
	if a.cluster.options.DryRun {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.waiting[event.Namespace]
	if a.total >= maxEvents || w != nil && len(w.events) >= maxNamespaceEvents {
		a.dropped.Inc()
		return
	}
	if w == nil {
		w = &announcements{}
		a.waiting[event.Namespace] = w
	}
	w.last = time.Now()
	w.events = append(w.events, announced{event, reload, w.last})
	a.total++
	if len(w.events) == 1 {
		a.turns.AddAfter(event.Namespace, announceQuiet)
	}
}
