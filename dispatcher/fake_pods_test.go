package dispatcher_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The kubelet of a pod looks at volumes each minute, and when an annotation of the pod changes.
const kubeletSync = time.Minute

// runners are the running pods of workloads, which mount the ConfigMap app, and read it when they start and when they are asked to.
type runners struct {
	*world
	mu     sync.Mutex
	pods   map[string][]*runner
	serial int
	// writes are the contents of app.
	writes []written
	// lag is how late kubelets see a write.
	lag time.Duration
	// answer is what a call answers, after the pod has read its files unless it is an error.
	answer func(p *runner, path string) ([]byte, error)
	calls  []string
	// act is an edit, or what is done in its place.
	act func()
}

type written struct {
	at    time.Time
	value string
}

type runner struct {
	workload.RunningPod
	// touched is when its kubelet was last made to look, and asked how often the pod was. has is what it has read, and read how often it has.
	touched time.Time
	has     string
	asked   int
}

var (
	_ dispatcher.Pods   = &runners{}
	_ dispatcher.Caller = &runners{}
)

// run gives a world the ConfigMap app, and dispatchers that reload pods.
func (w *world) run() *runners {
	r := &runners{world: w, pods: map[string][]*runner{}, answer: func(*runner, string) ([]byte, error) { return nil, nil }}
	r.act = func() { r.edits("2", 0) }
	w.give("app", "1")
	r.writes = []written{{time.Now(), "1"}}
	w.configure = func(o *dispatcher.Options) {
		o.Pods, o.Caller, o.Settle, o.Exec = r, r, 90*time.Second, true
	}
	w.pass(2 * time.Second)
	return r
}

const (
	hotHTTP = `reroll.dev/auto: "true", reroll.dev/strategy: http, reroll.dev/http-reload: "POST :web/-/reload"`
	hotExec = `reroll.dev/auto: "true", reroll.dev/strategy: exec, reroll.dev/exec-reload: '["reload"]'`
	mounts  = `{volumes: [{name: v, configMap: {name: app}}], containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}]}]}`
)

// workload creates a Deployment with annotations, a pod spec and some running pods.
func (r *runners) workload(name, annotations, spec string, pods int) {
	r.t.Helper()
	r.must(r.create(alice, object(r.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: %s, annotations: {%s}}
spec: {template: {spec: %s}}`, name, annotations, spec))))
	for range pods {
		r.begin(name)
	}
	r.pass(2 * time.Second)
}

// fails has a pod answer with an error.
func (r *runners) fails(name string, err error) {
	r.answer = func(p *runner, _ string) ([]byte, error) {
		if p.Name != name {
			return nil, nil
		}
		return nil, err
	}
}

// begin starts a pod.
func (r *runners) begin(name string) *runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	now := time.Now()
	p := &runner{touched: now, RunningPod: workload.RunningPod{
		Name: fmt.Sprint("pod-", r.serial), UID: fmt.Sprint("uid-", r.serial), Address: "10.0.0.1",
		Created: now.Truncate(time.Second), Started: now.Truncate(time.Second),
	}}
	p.has = r.files(p)
	r.pods[name] = append(r.pods[name], p)
	return p
}

// end ends the oldest pod.
func (r *runners) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods[name] = r.pods[name][1:]
}

// edits gives app a new value, and lets time go by.
func (r *runners) edits(value string, after time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	r.writes = append(r.writes, written{time.Now(), value})
	r.mu.Unlock()
	r.edit(alice, app, value)
	r.pass(after)
}

// files returns what the volume of p has.
func (r *runners) files(p *runner) (value string) {
	looked := p.touched.Add(time.Since(p.touched).Truncate(kubeletSync))
	for _, w := range r.writes {
		if !w.at.Add(r.lag).After(looked) || p.Created.After(w.at) {
			value = w.value
		}
	}
	return value
}

// reads returns what each pod of a workload has read, and how often it was asked.
func (r *runners) reads(name string) (has []string, asked []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods[name] {
		has, asked = append(has, p.has), append(asked, p.asked)
	}
	return has, asked
}

// have fails the test unless the pods of web have read that value, and were asked that often.
func (r *runners) have(value string, asked ...int) {
	r.t.Helper()
	has, times := r.reads("web")
	if slices.ContainsFunc(has, func(v string) bool { return v != value }) || !slices.Equal(times, asked) {
		r.t.Errorf("pods run with %q and were asked %v times; want %q, %v", has, times, value, asked)
	}
}

func (r *runners) find(ctx context.Context, pod workload.RunningPod) (*runner, error) {
	for _, all := range r.pods {
		for _, p := range all {
			if p.UID == pod.UID {
				return p, ctx.Err()
			}
		}
	}
	return nil, cmp.Or(ctx.Err(), error(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Name)))
}

// Running returns the pods.
func (r *runners) Running(ctx context.Context, w *workload.Workload) (found []workload.RunningPod, err error) {
	if err := r.request(ctx, "running", w.Ref().String()); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods[w.Name] {
		found = append(found, p.RunningPod)
	}
	return found, nil
}

// Refresh has the kubelet look, if the value is another one.
func (r *runners) Refresh(ctx context.Context, pod workload.RunningPod, value string) error {
	if err := r.request(ctx, "refresh", pod.Name); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.find(ctx, pod)
	if err == nil && p.Refreshed != value {
		p.Refreshed, p.touched = value, time.Now()
	}
	return err
}

// Call asks a pod.
func (r *runners) Call(ctx context.Context, pod workload.RunningPod, q dialect.Request, secret map[string][]byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s:%s%s", pod.Name, q.Method, secret["token"], q.Port, q.Path))
	p, err := r.find(ctx, pod)
	if err != nil {
		return nil, errors.New("no answer")
	}
	answer, err := r.answer(p, q.Path)
	if err == nil && q.Method == "POST" {
		p.has = r.files(p)
		p.asked++
	}
	return answer, err
}

// Exec asks a pod by a command.
func (r *runners) Exec(ctx context.Context, pod workload.RunningPod, container string, command []string) error {
	_, err := r.Call(ctx, pod, dialect.Request{Method: "POST", Port: container, Path: "/" + fmt.Sprint(command)}, nil)
	return err
}

// Secret returns a token: the name of the Secret and of its namespace.
func (r *runners) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	if name == "gone" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return map[string][]byte{"token": []byte(namespace + "/" + name)}, nil
}
