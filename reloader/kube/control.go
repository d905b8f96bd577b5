package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// controlWait bounds the wait for the first answer: a freeze holds from the start, but who may not read it must say so some time.
const controlWait = 10 * time.Second

// WatchControl calls set with the data of the ConfigMap control.ConfigMap, now and whenever it changes, until ctx ends, never twice at a time. It returns once set was called for what there is; nil data means that there is none. If that takes longer
// than ten seconds it returns an error, and goes on trying: until set is called, nobody knows what is there.
func (c *Cluster) WatchControl(ctx context.Context, set func(data map[string]string)) error {
	return c.watchControl(ctx, controlWait, set)
}

func (c *Cluster) watchControl(ctx context.Context, longest time.Duration, set func(data map[string]string)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace(c.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, control.ConfigMap).String()
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	said := teller{set: set}
	tell := func(obj any) {
		if m, ok := obj.(*corev1.ConfigMap); ok {
			said.say(m.Data)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) }, DeleteFunc: func(any) { said.say(nil) },
	})
	if err != nil {
		return fmt.Errorf("watch ConfigMap %s/%s: %w", c.Namespace, control.ConfigMap, err)
	}
	factory.StartWithContext(ctx)
	answered := make(chan struct{})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			said.sayNothing()
			close(answered)
		}
	}()
	wait := time.NewTimer(longest)
	defer wait.Stop()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return fmt.Errorf("watch ConfigMap %s/%s: no answer in %s", c.Namespace, control.ConfigMap, longest)
	}
}

// teller calls set for one at a time, and remembers whether it did.
type teller struct {
	set func(data map[string]string)

	mu   sync.Mutex
	once bool
}

func (t *teller) say(data map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.once = true
	t.set(data)
}

// sayNothing says that there is nothing, unless something was said.
func (t *teller) sayNothing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.once {
		t.set(nil)
	}
}

// fieldManager is that of the commands.
const fieldManager = "reroll"

// WhoAmI returns the user that the API server takes this connection for; empty if it does not say.
func (c *Cluster) WhoAmI(ctx context.Context) string {
	review, err := c.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// ChangeControl has change rewrite the data of the ConfigMap control.ConfigMap, again if somebody else writes it meanwhile, making it if
// there is none. An error of change is returned and nothing is written.
func (c *Cluster) ChangeControl(ctx context.Context, change func(data map[string]string) error) error {
	client := c.client.CoreV1().ConfigMaps(c.Namespace)
	err := retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		stored, err := client.Get(ctx, control.ConfigMap, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		switch {
		case missing:
			stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap, Namespace: c.Namespace}}
		case err != nil:
			return err
		}
		if stored.Data == nil {
			stored.Data = map[string]string{}
		}
		if err := change(stored.Data); err != nil {
			return err
		}
		if missing {
			_, err = client.Create(ctx, stored, metav1.CreateOptions{FieldManager: fieldManager})
			return err
		}
		_, err = client.Update(ctx, stored, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", c.Namespace, control.ConfigMap, err)
	}
	return nil
}

// Named returns the workloads of the name of like, in its namespace, or in all if it has none, and of its kind, or of any if it has none.
func (c *Cluster) Named(ctx context.Context, like reloader.WorkloadRef) (found []reloader.WorkloadRef, err error) {
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, like.Name).String()
	for _, kind := range workload.Kinds {
		if like.Kind != "" && like.Kind != kind.Kind {
			continue
		}
		l, err := c.metadata.Resource(kind.Resource).Namespace(like.Namespace).List(ctx, metav1.ListOptions{FieldSelector: name})
		if err != nil && !notThere(err) {
			return nil, err
		}
		if err == nil {
			for _, o := range l.Items {
				found = append(found, reloader.WorkloadRef{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name})
			}
		}
	}
	return found, nil
}

// Annotate gives a workload an annotation.
func (c *Cluster) Annotate(ctx context.Context, ref reloader.WorkloadRef, key, value string) error {
	kind, ok := workload.KindNamed(ref.Kind)
	if !ok {
		return fmt.Errorf("no workload is of kind %s", ref.Kind)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		return err
	}
	_, err = c.metadata.Resource(kind.Resource).Namespace(ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("annotate %s: %w", ref, err)
	}
	return nil
}

// RunsHere reports whether something shows that Reroll runs in the namespace of c: what only its processes write. Who cannot look is not told
// that it does not.
func (c *Cluster) RunsHere(ctx context.Context) bool {
	for resource, name := range map[string]string{"secrets": KeySecret, "configmaps": CanaryName} {
		_, err := c.metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return true
		}
	}
	return false
}

// maxAlike bounds the names among which one is looked for that may have been meant.
const maxAlike = 500

// Lacks says in a sentence what is certainly not there, with what was probably meant: the namespace, or a workload or config of that name in
// it; empty if both may be there. Without a name it is about the namespace alone. Who cannot look is not told that there is none.
func (c *Cluster) Lacks(ctx context.Context, namespace, kind, name string) string {
	if c.absent(ctx, c.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")), namespace) {
		return "there is no namespace " + namespace + c.alike(ctx, c.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")), namespace)
	}
	resource, known := configResources[reloader.ConfigKind(kind)]
	if k, rolls := workload.KindNamed(kind); rolls {
		resource, known = k.Resource, true
	}
	if objects := c.metadata.Resource(resource).Namespace(namespace); known && c.absent(ctx, objects, name) {
		return "there is no " + kind + " " + name + " in namespace " + namespace + c.alike(ctx, objects, name)
	}
	return ""
}

func (c *Cluster) absent(ctx context.Context, objects metadata.ResourceInterface, name string) bool {
	_, err := objects.Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// alike ends a sentence about what is not there: it asks whether an object of a like name was meant, if there is one.
func (c *Cluster) alike(ctx context.Context, objects metadata.ResourceInterface, name string) string {
	l, err := objects.List(ctx, metav1.ListOptions{Limit: maxAlike})
	if err != nil {
		return "."
	}
	var names []string
	for _, o := range l.Items {
		names = append(names, o.Name)
	}
	if meant, ok := near.Word(name, names); ok {
		return "; did you mean " + meant + "?"
	}
	return "."
}
