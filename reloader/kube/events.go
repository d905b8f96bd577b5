package kube

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Announce queues an Event for each config behind a reload that rolled its workload or was refused. It does not block.
func (a *Announcer) Announce(w *workload.Workload, r reloader.Reload) {
	for _, e := range eventsOf(w, r) {
		a.enqueue(e, r.ID)
	}
}

// Complain queues a Warning about what is wrong with a workload's own settings. It does not block. As long as the cluster keeps an
// Event about the same problem of the same workload, there is no second one, whoever complains.
func (a *Announcer) Complain(w *workload.Workload, problem string) {
	a.enqueue(warningOf(w, eventInvalid, problem, time.Now()), "")
}

// Stalled queues a Warning that the rollout of a reload has stalled. It does not block.
func (a *Announcer) Stalled(w *workload.Workload, problem string) {
	a.enqueue(warningOf(w, eventFailed, problem, time.Now()), "")
}

// The reasons of Events. The first two are those of Stakater Reloader, and mean what they mean there: people have alerts on them. It says
// nothing of faulty annotations, so that what is wrong with settings has a reason of its own and pages nobody who moved here.
const (
	eventReloaded = "Reloaded"
	eventFailed   = "ReloadFail"
	eventInvalid  = "InvalidSettings"
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
	failed := false
	switch r.Outcome {
	case reloader.ReasonReloaded, reloader.ReasonPaused:
	case reloader.ReasonRefused, reloader.ReasonInvalid, reloader.ReasonFailing:
		failed = true
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
		e.Message = bounded(text)
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
