package dispatcher_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
