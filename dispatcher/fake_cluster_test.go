package dispatcher_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// cluster is an API server in memory: it keeps typed objects, and bumps versions, generations and managed fields as the real one
// does.
type cluster struct {
	mu        sync.Mutex
	objects   map[scenario.Ref]scenario.Typed
	templates templates
	// started is when the pods of each workload started: at every change of the template, podStart later. Where a config is missing without
	// which they cannot, the workload is waiting for it.
	started  map[scenario.Ref]time.Time
	waiting  map[scenario.Ref]bool
	podStart time.Duration
	serial   int

	// fail is asked before every request of a dispatcher; verb is meta, get, list, read, patch or pods.
	fail func(verb, ref string) error
	// requests counts the requests of dispatchers by verb.
	requests map[string]int
	// terminating says that every namespace is being deleted.
	terminating bool
	// lag has the workloads that the watch is late with.
	lag []reloader.WorkloadRef

	// watch gets every workload that is written, nil for one that is gone, in order. Nobody else calls it.
	watch func(ref scenario.Ref, obj scenario.Typed)
	// audit gets a hint for every write of a config that the API server answered.
	audit func(reloader.Hint)
}

func newCluster() *cluster {
	return &cluster{
		objects:   map[scenario.Ref]scenario.Typed{},
		templates: templates{},
		started:   map[scenario.Ref]time.Time{},
		waiting:   map[scenario.Ref]bool{},
		fail:      func(string, string) error { return nil },
		requests:  map[string]int{},
		watch:     func(scenario.Ref, scenario.Typed) {},
		audit:     func(reloader.Hint) {},
	}
}

func (c *cluster) next() string {
	c.serial++
	return strconv.Itoa(c.serial)
}

func refOf(obj scenario.Typed) scenario.Ref { return scenario.Object{Typed: obj}.Ref() }

func resource(ref scenario.Ref) (schema.GroupResource, string) {
	kind, _, name, _ := ref.Split()
	return schema.GroupResource{Resource: kind}, name
}

func notFound(ref scenario.Ref) error { return apierrors.NewNotFound(resource(ref)) }

func unprocessable(format string, args ...any) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", fmt.Sprintf(format, args...), 0, false)
}

func (c *cluster) read(ref scenario.Ref) (scenario.Typed, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, ok := c.objects[ref]
	if !ok {
		return nil, false
	}
	return obj.DeepCopyObject().(scenario.Typed), true
}

func (c *cluster) create(by reloader.Actor, obj scenario.Typed) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := refOf(obj)
	if _, ok := c.objects[ref]; ok {
		return apierrors.NewAlreadyExists(resource(ref))
	}
	normalise(obj)
	obj.SetUID(types.UID("uid-" + c.next()))
	obj.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	obj.SetGeneration(1)
	c.commit(ref, obj, by, true)
	c.report(ref, reloader.VerbCreate, by)
	return nil
}

func (c *cluster) patch(by reloader.Actor, ref scenario.Ref, as types.PatchType, body []byte) error {
	_, err := c.patchBy(by, ref, as, body)
	return err
}

func (c *cluster) patchBy(by reloader.Actor, ref scenario.Ref, as types.PatchType, body []byte) (raised int64, err error) {
	return c.change(ref, reloader.VerbPatch, by, func(old []byte, empty scenario.Typed) ([]byte, error) {
		switch as {
		case types.MergePatchType:
			return jsonpatch.MergePatch(old, body)
		case types.StrategicMergePatchType, types.ApplyPatchType:
			return strategicpatch.StrategicMergePatch(old, body, empty)
		}
		p, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		patched, err := p.Apply(old)
		if err != nil { // what does not fit is unprocessable, as the API server says
			return nil, unprocessable("%v", err)
		}
		return patched, nil
	})
}

// change replaces an object by what edit makes of it, and returns by how much that raises its generation.
func (c *cluster) change(
	ref scenario.Ref, verb reloader.Verb, by reloader.Actor, edit func([]byte, scenario.Typed) ([]byte, error),
) (raised int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.objects[ref]
	if !ok {
		return 0, notFound(ref)
	}
	obj, err := edited(ref, old, edit)
	if err != nil {
		return 0, err
	}
	c.replace(ref, old, obj, by)
	c.report(ref, verb, by)
	return obj.GetGeneration() - old.GetGeneration(), nil
}

func edited(ref scenario.Ref, old scenario.Typed, edit func([]byte, scenario.Typed) ([]byte, error)) (scenario.Typed, error) {
	kind, _, _, _ := ref.Split()
	obj, err := scenario.New(kind)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := edit(before, obj)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(after))
	if err := decoder.Decode(obj); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	normalise(obj)
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	obj.SetResourceVersion(old.GetResourceVersion())
	obj.SetManagedFields(old.GetManagedFields())
	return obj, nil
}

// replace stores obj in place of old, unless they are equal.
func (c *cluster) replace(ref scenario.Ref, old, obj scenario.Typed, by reloader.Actor) {
	if reflect.DeepEqual(old, obj) {
		return
	}
	if raises(old, obj) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	c.commit(ref, obj, by, !sameData(old, obj))
}

// commit stores obj and tells the watcher.
func (c *cluster) commit(ref scenario.Ref, obj scenario.Typed, by reloader.Actor, data bool) {
	obj.SetResourceVersion(c.next())
	manage(c.objects[ref], obj, by, data)
	if c.templates.see(ref, obj) {
		c.waiting[ref] = true
	}
	c.objects[ref] = obj
	c.startPods()
	c.tell(ref)
}

// startPods starts the pods that lack nothing any more.
func (c *cluster) startPods() {
	for ref := range c.waiting {
		if !c.lacksConfig(c.objects[ref]) {
			c.started[ref] = time.Now().Add(c.podStart)
			delete(c.waiting, ref)
		}
	}
}

// lacksConfig reports whether a config is missing without which pods of obj cannot start, or a scheduler.
func (c *cluster) lacksConfig(obj scenario.Typed) bool {
	kind, _ := workload.KindNamed(obj.GetObjectKind().GroupVersionKind().Kind)
	w, err := kind.Strip(obj, func(string) bool { return false })
	if err != nil {
		panic(err)
	}
	if w.Template.Scheduler == dialect.NoScheduler {
		return true
	}
	for config, reference := range w.Template.References.All() {
		if _, there := c.objects[configRef(config)]; !there && reference.Required {
			return true
		}
	}
	return false
}

func (c *cluster) tell(ref scenario.Ref) {
	if !ref.Workload() {
		return
	}
	obj := c.objects[ref]
	if obj != nil {
		obj = obj.DeepCopyObject().(scenario.Typed)
	}
	c.watch(ref, obj)
}

func (c *cluster) delete(by reloader.Actor, ref scenario.Ref) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.objects[ref]; !ok {
		return notFound(ref)
	}
	delete(c.objects, ref)
	delete(c.templates, ref)
	delete(c.started, ref)
	delete(c.waiting, ref)
	c.tell(ref)
	c.report(ref, reloader.VerbDelete, by)
	return nil
}

// request counts a request of a dispatcher and returns the error that it is to meet.
func (c *cluster) request(ctx context.Context, verb, ref string) error {
	c.mu.Lock()
	c.requests[verb]++
	fail := c.fail
	c.mu.Unlock()
	return errors.Join(ctx.Err(), fail(verb, ref))
}

// counted returns how many requests of a verb there were since the last call.
func (c *cluster) counted(verb string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.requests[verb]
	c.requests[verb] = 0
	return n
}

// lagging has the watch be late with these workloads from now on.
func (c *cluster) lagging(of ...reloader.WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = of
}

// failing makes requests meet what fail says from now on; nil ends that.
func (c *cluster) failing(fail func(verb, ref string) error) {
	if fail == nil {
		fail = func(string, string) error { return nil }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}
