package kube

import (
	"sync"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// roster stands between the informers and those who follow the workloads. It keeps back the workloads of namespaces that are not
// admitted, and joins those that run another object's template with that object, whichever of the two becomes known first. It calls
// track and forget one at a time and in the order of what happened.
type roster struct {
	track  func(*workload.Workload)
	forget func(reloader.WorkloadRef)

	mu sync.Mutex
	// admitted has the namespaces whose workloads are tracked; nil stands for all.
	admitted map[string]bool
	// known has every workload that the informers have, by namespace.
	known map[string]map[reloader.WorkloadRef]*workload.Workload
	// runners has, for each object that others run the template of, those others.
	runners map[reloader.WorkloadRef]map[reloader.WorkloadRef]bool
}

func newRoster(track func(*workload.Workload), forget func(reloader.WorkloadRef)) *roster {
	return &roster{
		track: track, forget: forget,
		known:   map[string]map[reloader.WorkloadRef]*workload.Workload{},
		runners: map[reloader.WorkloadRef]map[reloader.WorkloadRef]bool{},
	}
}

// put takes a workload that is new or has changed.
func (r *roster) put(w *workload.Workload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := w.Ref()
	old := r.known[ref.Namespace][ref]
	if old != nil && old.Alike(w) && old.Progress == w.Progress {
		r.known[ref.Namespace][ref] = w
		return // its pods come and go
	}
	r.remove(ref)
	if r.known[ref.Namespace] == nil {
		r.known[ref.Namespace] = map[reloader.WorkloadRef]*workload.Workload{}
	}
	r.known[ref.Namespace][ref] = w
	if of := w.TemplateOf; of != nil {
		if r.runners[*of] == nil {
			r.runners[*of] = map[reloader.WorkloadRef]bool{}
		}
		r.runners[*of][ref] = true
	}
	if !r.admits(ref.Namespace) {
		return
	}
	r.track(r.joined(w))
	r.trackRunners(ref)
}

// drop takes a workload that is gone.
func (r *roster) drop(ref reloader.WorkloadRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(ref)
	if r.admits(ref.Namespace) {
		r.forget(ref)
		r.trackRunners(ref)
	}
}

// dropKind takes that a whole kind is gone.
func (r *roster) dropKind(kind string) {
	r.mu.Lock()
	var gone []reloader.WorkloadRef
	for _, workloads := range r.known {
		for ref := range workloads {
			if ref.Kind == kind {
				gone = append(gone, ref)
			}
		}
	}
	r.mu.Unlock()
	for _, ref := range gone {
		r.drop(ref)
	}
}

// selective admits no namespace but those that admit names.
func (r *roster) selective() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admitted = map[string]bool{}
}

// admit takes that the workloads of a namespace are to be tracked.
func (r *roster) admit(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.admits(namespace) {
		return
	}
	r.admitted[namespace] = true
	for _, w := range r.known[namespace] {
		r.track(r.joined(w))
	}
}

// expel takes that the workloads of a namespace are to be tracked no longer.
func (r *roster) expel(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admitted[namespace] {
		return
	}
	delete(r.admitted, namespace)
	for ref := range r.known[namespace] {
		r.forget(ref)
	}
}

func (r *roster) admits(namespace string) bool { return r.admitted == nil || r.admitted[namespace] }

// joined returns w with the template that it runs, if the object that has it is known.
func (r *roster) joined(w *workload.Workload) *workload.Workload {
	if w.TemplateOf == nil {
		return w
	}
	if via := r.known[w.TemplateOf.Namespace][*w.TemplateOf]; via != nil {
		return w.Through(via)
	}
	return w
}

// trackRunners tracks again what runs the template of an object that has changed.
func (r *roster) trackRunners(of reloader.WorkloadRef) {
	for ref := range r.runners[of] {
		r.track(r.joined(r.known[ref.Namespace][ref]))
	}
}

// remove makes ref unknown.
func (r *roster) remove(ref reloader.WorkloadRef) {
	old := r.known[ref.Namespace][ref]
	if old == nil {
		return
	}
	delete(r.known[ref.Namespace], ref)
	if len(r.known[ref.Namespace]) == 0 {
		delete(r.known, ref.Namespace)
	}
	if of := old.TemplateOf; of != nil {
		delete(r.runners[*of], ref)
		if len(r.runners[*of]) == 0 {
			delete(r.runners, *of)
		}
	}
}
