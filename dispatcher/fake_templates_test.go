package dispatcher_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// raises reports whether the API server raises the generation: for another spec, and for other annotations of a Deployment.
func raises(old, obj scenario.Typed) bool {
	if _, ok := obj.(*appsv1.Deployment); ok && !equality.Semantic.DeepEqual(old.GetAnnotations(), obj.GetAnnotations()) {
		return true
	}
	return !equality.Semantic.DeepEqual(specOf(old), specOf(obj))
}

// specOf returns the spec of an object; nil if its kind has none.
func specOf(obj scenario.Typed) any {
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		return loose.Object["spec"]
	}
	if spec := reflect.Indirect(reflect.ValueOf(obj)).FieldByName("Spec"); spec.IsValid() {
		return spec.Interface()
	}
	return nil
}

// templates are the templates of each workload.
type templates map[scenario.Ref]past

// past is how many templates a workload has had, which one it has, and the ReplicaSets of a Deployment.
type past struct {
	revision    int64
	template    *corev1.PodTemplateSpec
	replicaSets []replicaSet
}

// replicaSet has the template of a Deployment and the annotations that the Deployment last had with it. Its controller takes none away.
type replicaSet struct {
	template    *corev1.PodTemplateSpec
	annotations map[string]string
}

// see takes note of a workload that is stored, and reports whether its template is another one.
func (h templates) see(ref scenario.Ref, obj scenario.Typed) (other bool) {
	template := scenario.Template(obj)
	if template == nil {
		return false
	}
	now := h[ref]
	if other = !equality.Semantic.DeepEqual(now.template, template); other {
		now.revision++
		now.template = template.DeepCopy()
	}
	if _, ok := obj.(*appsv1.Deployment); ok {
		now.replicaSets = slices.Clone(now.replicaSets)
		i := now.replicaSetOf(template)
		if i < 0 {
			i = len(now.replicaSets)
			now.replicaSets = append(now.replicaSets, replicaSet{template: now.template})
		}
		now.replicaSets[i].annotations = annotationsOf(obj.GetAnnotations(), now.replicaSets[i].annotations)
	}
	h[ref] = now
	return other
}

func (h past) replicaSetOf(template *corev1.PodTemplateSpec) int {
	return slices.IndexFunc(h.replicaSets, func(s replicaSet) bool { return equality.Semantic.DeepEqual(s.template, template) })
}

// annotationsOf returns annotations, and those of others with other keys. What the controller, the Deployment and kubectl apply say of themselves is
// only that of others.
func annotationsOf(annotations, others map[string]string) map[string]string {
	result := map[string]string{}
	maps.Copy(result, others)
	for key, value := range annotations {
		if !strings.HasPrefix(key, "deployment.kubernetes.io/") && key != corev1.LastAppliedConfigAnnotation {
			result[key] = value
		}
	}
	return result
}

// undo does what kubectl rollout undo does: a Deployment gets the template of one of its ReplicaSets, and the annotations of that in place of its
// own. It does nothing if it has that template.
func (c *cluster) undo(by reloader.Actor, ref scenario.Ref, to *corev1.PodTemplateSpec) error {
	_, err := c.change(ref, reloader.VerbPatch, by, func(old []byte, _ scenario.Typed) ([]byte, error) {
		var d appsv1.Deployment
		if err := json.Unmarshal(old, &d); err != nil {
			return nil, err
		}
		h := c.templates[ref]
		i := h.replicaSetOf(to)
		if i < 0 {
			return nil, notFound(ref)
		}
		if equality.Semantic.DeepEqual(&d.Spec.Template, to) {
			return old, nil
		}
		own := maps.Clone(d.Annotations)
		maps.DeleteFunc(own, func(key, _ string) bool { return len(annotationsOf(map[string]string{key: ""}, nil)) > 0 })
		d.Annotations, d.Spec.Template = annotationsOf(h.replicaSets[i].annotations, own), *to.DeepCopy()
		return json.Marshal(&d)
	})
	return err
}

// revision returns how many templates a workload has had since it was created, and 0 if it does not exist.
func (c *cluster) revision(ref scenario.Ref) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.templates[ref].revision
}

// report makes the hint of a write that was answered with success.
func (c *cluster) report(ref scenario.Ref, verb reloader.Verb, by reloader.Actor) {
	if ref.Workload() {
		return
	}
	kind, namespace, name, _ := ref.Split()
	now := time.Now()
	c.audit(reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigKind(kind), Namespace: namespace, Name: name},
		Verb: verb, Source: reloader.SourceAudit, Actor: by, AuditID: "audit-" + c.next(), Code: http.StatusOK,
		Time: now, Received: now,
	})
}

// manage puts by first into the managed fields. There is one time for all that a manager writes, and it moves with each of their writes. Who only takes keys
// of a config away owns nothing more than before.
func manage(old, obj scenario.Typed, by reloader.Actor, data bool) {
	if data && takenAway(old, obj) {
		return
	}
	others := slices.DeleteFunc(slices.Clone(obj.GetManagedFields()), func(e metav1.ManagedFieldsEntry) bool {
		mine := e.Manager == by.FieldManager
		data = data || mine && strings.Contains(e.FieldsV1.GetRawString(), "f:data")
		return mine
	})
	now, fields := metav1.Now().Rfc3339Copy(), `{"f:metadata":{}}`
	if data {
		fields = `{"f:metadata":{},"f:data":{}}`
	}
	obj.SetManagedFields(append([]metav1.ManagedFieldsEntry{{
		Manager: by.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now, FieldsV1: metav1.NewFieldsV1(fields),
	}}, others...))
}

// takenAway reports whether obj is the ConfigMap old without some of its keys.
func takenAway(old, obj scenario.Typed) bool {
	was, ok := old.(*corev1.ConfigMap)
	if !ok {
		return false
	}
	now := obj.(*corev1.ConfigMap)
	for key, value := range now.Data {
		if before, had := was.Data[key]; !had || before != value {
			return false
		}
	}
	return len(now.Data) < len(was.Data) && len(now.BinaryData) == 0
}

func normalise(obj scenario.Typed) {
	s, ok := obj.(*corev1.Secret)
	if !ok || len(s.StringData) == 0 {
		return
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func sameData(a, b scenario.Typed) bool {
	switch a := a.(type) {
	case *corev1.ConfigMap:
		b := b.(*corev1.ConfigMap)
		return reflect.DeepEqual(a.Data, b.Data) && reflect.DeepEqual(a.BinaryData, b.BinaryData)
	case *corev1.Secret:
		return reflect.DeepEqual(a.Data, b.(*corev1.Secret).Data)
	}
	return false
}
