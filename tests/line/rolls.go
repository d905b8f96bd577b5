package line

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/tests/poll"
)

// Rolls takes down each change of a Deployment's spec, as the API server's watch shows it.
type Rolls struct {
	stop    func()
	changed chan struct{}

	mu    sync.Mutex
	at    map[string][]time.Time
	total int
}

// WatchRolls follows the Deployments of a namespace, or of all if it is empty. An informer follows, since the API server ends the watches of
// clients that it is too busy to serve; it keeps no templates.
func WatchRolls(ctx context.Context, client kubernetes.Interface, namespace string) (*Rolls, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &Rolls{stop: stop, changed: make(chan struct{}, 1), at: map[string][]time.Time{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), informers.WithTransform(func(o any) (any, error) {
		if d, ok := o.(*appsv1.Deployment); ok {
			d.Spec, d.Annotations, d.ManagedFields = appsv1.DeploymentSpec{}, nil, nil
		}
		return o, nil
	}))
	informer := factory.Apps().V1().Deployments().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		was, is := old.(*appsv1.Deployment), new.(*appsv1.Deployment)
		r.note(is.Namespace+"/"+is.Name, is.Generation-was.Generation)
	}})
	if err != nil {
		stop()
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		stop()
		return nil, context.Cause(ctx)
	}
	return r, nil
}

func (r *Rolls) note(name string, times int64) {
	r.mu.Lock()
	for range times {
		r.at[name] = append(r.at[name], time.Now())
		r.total++
	}
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default: // one who waits looks at all
	}
}

// Stop ends the watch.
func (r *Rolls) Stop() { r.stop() }

// Seen returns when each Deployment, as namespace/name, has rolled.
func (r *Rolls) Seen() map[string][]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := maps.Clone(r.at)
	for name, at := range seen {
		seen[name] = slices.Clone(at)
	}
	return seen
}

// Wait waits until so many Deployments, whose namespace/name begins with prefix, have rolled at least so many times; see Poll for how long.
func (r *Rolls) Wait(ctx context.Context, prefix string, deployments, times int) error {
	return r.wait(ctx, func() error {
		n := 0
		for name, at := range r.at {
			if strings.HasPrefix(name, prefix) && len(at) >= times {
				n++
			}
		}
		if n < deployments {
			return fmt.Errorf("%d of %d Deployments have rolled %d times", n, deployments, times)
		}
		return nil
	})
}

// WaitTotal waits until there were so many rolls of all together.
func (r *Rolls) WaitTotal(ctx context.Context, n int) error {
	return r.wait(ctx, func() error {
		if r.total < n {
			return fmt.Errorf("%d of %d rolls were seen", r.total, n)
		}
		return nil
	})
}

func (r *Rolls) wait(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, poll.Patience())
	defer cancel()
	for {
		r.mu.Lock()
		err := check()
		r.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-r.changed:
		}
	}
}

// Deployment returns a Deployment of one container.
func Deployment(namespace, name string, annotations map[string]string, from ...corev1.EnvFromSource) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main", EnvFrom: from}}},
			},
		},
	}
}

// FromConfigMap and FromSecret have a container get all keys of a config.
func FromConfigMap(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

// FromSecret is FromConfigMap of a Secret.
func FromSecret(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

// Memory returns how much memory the process has resident, and how much at most, in bytes.
func (r *Reroll) Memory() (now, most int64, err error) { return Memory(r.PID()) }

// Memory returns how much memory a process has resident, and how much at most, in bytes.
func Memory(pid int) (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for text := range strings.Lines(string(status)) {
		for name, field := range map[string]*int64{"VmRSS:": &now, "VmHWM:": &most} {
			if rest, ok := strings.CutPrefix(text, name); ok {
				kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return 0, 0, err
				}
				*field = kb << 10
			}
		}
	}
	if now == 0 {
		return 0, 0, fmt.Errorf("the kernel does not tell the memory of process %d", pid)
	}
	return now, most, nil
}

// Percentile returns the time within which a part of those was.
func Percentile(took []time.Duration, part float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(took))[min(len(took)-1, int(part*float64(len(took))))].Round(time.Millisecond / 10)
}
