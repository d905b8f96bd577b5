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

// fieldSet is what the managed fields say of one manager.
type fieldSet map[string]any

// manage puts by into the managed fields. There is one time for all that a manager writes, and it moves with each of their writes. An
// annotation of a workload belongs to anyone who gave it its value. Who only takes keys of a config away owns nothing more than before.
func manage(old, obj scenario.Typed, by reloader.Actor, data bool) {
	if data && takenAway(old, obj) {
		return
	}
	now := metav1.Now().Rfc3339Copy()
	mine, written := fieldSet{}, annotated(old, obj)
	var others []metav1.ManagedFieldsEntry
	for _, e := range obj.GetManagedFields() {
		fields := fieldsOf(e)
		if e.Manager == by.FieldManager {
			mine = fields
			continue
		}
		for _, key := range written {
			delete(fields.under("f:metadata").under("f:annotations"), "f:"+key)
		}
		e.FieldsV1 = fields.raw()
		others = append(others, e)
	}
	if data {
		mine.add("f:data")
	} else {
		mine.add("f:metadata")
	}
	for _, key := range written {
		mine.add("f:metadata").add("f:annotations").add("f:" + key)
	}
	obj.SetManagedFields(append([]metav1.ManagedFieldsEntry{{
		Manager: by.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now, FieldsV1: mine.raw(),
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

// annotated returns the annotations of a workload that are not as they were.
func annotated(old, obj scenario.Typed) []string {
	var keys []string
	if scenario.Template(obj) == nil {
		return nil
	}
	for key, value := range obj.GetAnnotations() {
		if old == nil || old.GetAnnotations()[key] != value {
			keys = append(keys, key)
		}
	}
	return keys
}

func fieldsOf(e metav1.ManagedFieldsEntry) fieldSet {
	s := fieldSet{}
	if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &s); err != nil {
		panic(err)
	}
	return s
}

func (s fieldSet) raw() *metav1.FieldsV1 {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return metav1.NewFieldsV1(string(raw))
}

// under returns what s has under key; nil if nothing.
func (s fieldSet) under(key string) fieldSet {
	switch inner := s[key].(type) {
	case map[string]any:
		return inner
	case fieldSet:
		return inner
	}
	return nil
}

// add puts key into s, if it is not there, and returns what s has under it.
func (s fieldSet) add(key string) fieldSet {
	if s.under(key) == nil {
		s[key] = fieldSet{}
	}
	return s.under(key)
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

func frozen(obj scenario.Typed) bool {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		return o.Immutable != nil && *o.Immutable
	case *corev1.Secret:
		return o.Immutable != nil && *o.Immutable
	}
	return false
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
