package admission

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	namespace = "shop"
	uid       = "0d6bb0cc-7d58-4dc9-8b48-9d2f7f5f0f5e"
	configVar = "STAKATER_APP_CONFIGMAP"
	otherVar  = "STAKATER_KEY_SECRET"
)

var (
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	config = reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: "app"}
	other  = reloader.Config{Kind: reloader.Secret, Namespace: namespace, Name: "key"}
	// auto opts in to every reference in the way of Stakater Reloader, and own in that of Reroll.
	auto = map[string]string{"reloader.stakater.com/auto": "true"}
	own  = map[string]string{"reroll.dev/auto": "true"}
)

func rulesOf(t testing.TB) Rules {
	t.Helper()
	return Rules{Dialects: dialect.All(dialect.StakaterOptions{}), Ring: ringOf(t, 'a'), Strategy: mark.EnvVars.Name}
}

func ringOf(t testing.TB, keys ...byte) *digest.Ring {
	t.Helper()
	var made []digest.Key
	for _, k := range keys {
		made = append(made, digest.Key(strings.Repeat(string(rune(k)), digest.KeySize)))
	}
	ring, err := digest.NewRing(made...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// deployment is what the tests say about a Deployment. Its first container uses config, and its second one other.
type deployment struct {
	opted, labels, annotations map[string]string
	env, second                []corev1.EnvVar
	image                      string
	replicas                   int32
	// applied is the value of applied.Key. If that has entries, the template has their hash unless hash says another.
	applied, hash string
}

func (d deployment) object() *appsv1.Deployment {
	o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: uid, ResourceVersion: "7", Labels: d.labels}}
	for key, value := range d.opted {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, key, value)
	}
	if d.applied != "" {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, applied.Key, d.applied)
	}
	o.Spec.Replicas = &d.replicas
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	o.Spec.Template.Labels = o.Spec.Selector.MatchLabels
	for key, value := range d.annotations {
		metav1.SetMetaDataAnnotation(&o.Spec.Template.ObjectMeta, key, value)
	}
	if d.hash != "" {
		metav1.SetMetaDataAnnotation(&o.Spec.Template.ObjectMeta, mark.HashKey, d.hash)
	}
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

func (d deployment) raw(t testing.TB) json.RawMessage { return rawOf(t, d.object()) }

func rawOf(t testing.TB, o any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(o)
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

// contentOf returns a config whose only key has a value. Its version is the length of that.
func contentOf(c reloader.Config, value string) live.Object {
	meta := live.Meta{UID: "uid of " + c.Name, ResourceVersion: strconv.Itoa(len(value)), DataWritten: noon}
	if c.Kind == reloader.Secret {
		return live.Object{Meta: meta, Content: digest.OfSecret(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string][]byte{"key": []byte(value)},
		})}
	}
	return live.Object{Meta: meta, Content: digest.OfConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string]string{"key": value},
	})}
}

// markOf returns the mark of Stakater Reloader for a config whose only key has a value.
func markOf(c reloader.Config, value string) string {
	return dialect.Stakater(dialect.StakaterOptions{}).MarkValue(contentOf(c, value).Content)
}

// stateOf returns the State after n rolls with configs whose only key has a value.
func stateOf(t testing.TB, n uint64, values map[reloader.Config]string) applied.State {
	t.Helper()
	s := applied.State{Workload: uid, N: n, At: noon}
	for c, value := range values {
		obj := contentOf(c, value)
		s.Writes.Set(c, applied.WriteOf(obj.ResourceVersion, rulesOf(t).Ring.Digest(obj.Content), nil))
	}
	return s
}

func hashOf(s applied.State) string { return mark.Hash(s.N, s.Contents()) }

// world is a fake API server with configs.
type world struct {
	values map[reloader.Config]string
	labels map[string]string
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
	obj := contentOf(c, value)
	obj.Labels = w.labels
	return obj, nil
}

func newHandler(t testing.TB, w *world, change func(*Options)) *Handler {
	t.Helper()
	w.reads = make(chan reloader.Config, 1000)
	o := Options{Rules: rulesOf(t), Configs: w, InScope: func(string) bool { return true }, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// answered returns what is stored after a request, and the patch, with w as the configs.
func answered(t testing.TB, r Rules, before, after json.RawMessage, w *world) (*appsv1.Deployment, []byte) {
	t.Helper()
	h := newHandler(t, w, func(o *Options) { o.Rules = r })
	d, err := r.draft(workload.Deployment, before, after)
	if err != nil {
		t.Fatal(err)
	}
	var patch []byte
	if d != nil {
		done, _ := h.see(t.Context(), d)
		if _, err := d.bring(noon); err != nil {
			t.Fatal(err)
		}
		done()
		if patch, err = d.patch(); err != nil {
			t.Fatal(err)
		}
	}
	var o appsv1.Deployment
	if err := json.Unmarshal(apply(t, after, patch), &o); err != nil {
		t.Fatal(err)
	}
	return &o, patch
}

// apply applies a patch as an API server does.
func apply(t testing.TB, raw json.RawMessage, body []byte) json.RawMessage {
	t.Helper()
	if body == nil {
		return raw
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		t.Fatal(err)
	}
	result, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("apply %s: %v", body, err)
	}
	return result
}
