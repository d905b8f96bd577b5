package admission

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const namespace = "shop"

var (
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	config = reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: "app"}
	other  = reloader.Config{Kind: reloader.Secret, Namespace: namespace, Name: "key"}
	rules  = Rules{Dialects: dialect.All(dialect.StakaterOptions{}), Strategy: strategy.EnvVars.Name}
)

// deployment is what the tests say about a Deployment. Its first container uses config, and its second one other.
type deployment struct {
	opted       map[string]string
	labels      map[string]string
	env         []corev1.EnvVar
	second      []corev1.EnvVar
	annotations map[string]string
	image       string
	brought     string
	replicas    int32
}

// auto opts in to every reference.
var auto = map[string]string{"reloader.stakater.com/auto": "true"}

func (d deployment) object() *appsv1.Deployment {
	o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: "u", Generation: 3, Labels: d.labels}}
	for key, value := range d.opted {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, key, value)
	}
	if d.brought != "" {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, strategy.BroughtKey, d.brought)
	}
	o.Spec.Replicas = &d.replicas
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	o.Spec.Template.Labels, o.Spec.Template.Annotations = o.Spec.Selector.MatchLabels, d.annotations
	from := func(c reloader.Config) []corev1.EnvFromSource {
		name := corev1.LocalObjectReference{Name: c.Name}
		if c.Kind == reloader.Secret {
			return []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name}}}
		}
		return []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}}}
	}
	o.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "main", Image: "example.com/web:" + d.image, EnvFrom: from(config), Env: d.env},
		{Name: "side", Image: "example.com/side", EnvFrom: from(other), Env: d.second},
	}
	return o
}

func (d deployment) raw(t testing.TB) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(d.object())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func env(pairs ...string) []corev1.EnvVar {
	var list []corev1.EnvVar
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// seenOf returns what a config says whose only key has a value; its version is that value.
func seenOf(c reloader.Config, value string) Seen {
	obj := contentOf(c, value)
	return Seen{Meta: obj.Meta, Digest: reloader.Digest{KeyID: "k", Sum: "sum of " + value}, Marks: rules.Dialects.Values(obj.Content), Content: obj.Content}
}

func contentOf(c reloader.Config, value string) live.Object {
	meta := live.Meta{UID: "uid of " + c.Name, ResourceVersion: value, DataWritten: noon}
	if c.Kind == reloader.Secret {
		return live.Object{Meta: meta, Content: digest.OfSecret(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string][]byte{"key": []byte(value)},
		})}
	}
	return live.Object{Meta: meta, Content: digest.OfConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string]string{"key": value},
	})}
}

// markOf returns the mark of a config whose only key has a value.
func markOf(t testing.TB, c reloader.Config, value string) string {
	t.Helper()
	stakater, _ := rules.Dialects.Named("stakater")
	return stakater.Hash(contentOf(c, value).Content)
}

func versionOf(c reloader.Config, value string) string {
	return strategy.Version(c, "uid of "+c.Name, value, "sum of "+value)
}

// patched returns what a draft's patch makes of the object after a request, and how many configs it was brought to.
func patched(t testing.TB, r Rules, before, after json.RawMessage, seen map[reloader.Config]Seen) (*appsv1.Deployment, int, []strategy.Op) {
	t.Helper()
	draft, err := r.Draft(workload.Deployment, before, after)
	if err != nil {
		t.Fatal(err)
	}
	var ops []strategy.Op
	brought := 0
	if draft != nil {
		if ops, brought, err = draft.Patch(seen, noon); err != nil {
			t.Fatal(err)
		}
	}
	return apply(t, after, ops), brought, ops
}

// apply applies operations as an API server does.
func apply(t testing.TB, raw json.RawMessage, ops []strategy.Op) *appsv1.Deployment {
	t.Helper()
	body, err := marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		t.Fatal(err)
	}
	result, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("apply %s: %v", body, err)
	}
	var o appsv1.Deployment
	if err := json.Unmarshal(result, &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

// world is a fake API server with configs.
type world struct {
	values map[reloader.Config]string
	err    error
	reads  chan reloader.Config
}

func (w *world) Get(ctx context.Context, c reloader.Config) (live.Object, error) {
	w.reads <- c
	value, found := w.values[c]
	switch {
	case w.err != nil:
		return live.Object{}, w.err
	case !found:
		return live.Object{}, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, c.Name)
	case value == "slow":
		<-ctx.Done()
		return live.Object{}, ctx.Err()
	}
	return contentOf(c, value), nil
}

func newHandler(t testing.TB, w *world, change func(*Options)) *Handler {
	t.Helper()
	ring, err := digest.NewRing(make(digest.Key, digest.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	w.reads = make(chan reloader.Config, 1000)
	o := Options{Rules: rules, Configs: w, Certified: true, Logger: slog.New(slog.DiscardHandler)}
	o.Ring = ring
	if change != nil {
		change(&o)
	}
	return New(o)
}

// applyBody applies a patch.
func applyBody(raw json.RawMessage, body []byte) error {
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return err
	}
	_, err = patch.Apply(raw)
	return err
}
