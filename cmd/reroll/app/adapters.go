package app

import (
	"context"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// follower feeds a projection from the queue.
func follower(p *projection.Projection) queue.Follower {
	return queue.Follower{CaughtUp: p.SetCaughtUp, Reset: p.Reset, Event: func(e queue.Event) {
		switch {
		case e.Change != nil:
			p.AddChange(e.Sequence, *e.Change)
		case e.Reload != nil:
			p.AddReload(e.Sequence, *e.Reload)
		case e.Workload != nil:
			p.PutWorkload(*e.Workload)
		case e.Gone != nil:
			p.DeleteWorkload(e.Cluster, *e.Gone)
		case e.Status != nil:
			p.PutCluster(*e.Status)
		case e.Position != nil:
			p.PutPosition(e.Cluster, *e.Position)
		}
	}}
}

// announcers are several of them.
type announcers []dispatcher.Announcer

// Announce tells all of them about a reload.
func (a announcers) Announce(w *workload.Workload, r reloader.Reload) {
	for _, one := range a {
		one.Announce(w, r)
	}
}

// Complain tells all of them about a problem.
func (a announcers) Complain(w *workload.Workload, problem string) {
	for _, one := range a {
		one.Complain(w, problem)
	}
}

// Stalled tells all of them about a rollout.
func (a announcers) Stalled(w *workload.Workload, problem string) {
	for _, one := range a {
		one.Stalled(w, problem)
	}
}

// alerter alerts about reloads alone.
type alerter struct{ *notify.Alerts }

// Complain sends no message: an Event on the workload reports the faulty annotation.
func (alerter) Complain(*workload.Workload, string) {}

// Stalled sends no message: an alert is about a reload.
func (alerter) Stalled(*workload.Workload, string) {}

// webhookCaller calls a webhook in the place of a roll.
type webhookCaller struct{ *notify.Webhook }

// Notify describes r to the webhook.
func (c webhookCaller) Notify(ctx context.Context, r reloader.Reload) error {
	return c.Call(ctx, notify.PayloadOf(r))
}
