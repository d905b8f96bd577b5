package mark

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// Errors of Apply.
var (
	// ErrMoved means that the object is not the one that was read, or has changed since.
	ErrMoved = errors.New("the object has changed since it was read")
	// ErrTaken means that a container has a variable of a mark's name that takes its value from somewhere else.
	ErrTaken = errors.New("the variable of a mark has a valueFrom")
)

// object has the fields of all kinds of workloads that a patch names, with the merge keys of their lists.
type object struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Template    corev1.PodTemplateSpec `json:"template"`
		JobTemplate struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// Apply returns what the patch of a roll makes of data, the JSON of the object that was read as w. It is for objects that the API server
// does not patch: those of kinds without strategic merge, those that are created again, and those in an admission review.
func Apply(w *workload.Workload, data []byte, r Roll) ([]byte, error) {
	var old, changed object
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	if old.Metadata.UID != w.UID || old.Metadata.ResourceVersion != w.ResourceVersion {
		return nil, ErrMoved
	}
	body, err := patch(w, r)
	if err != nil {
		return nil, err
	}
	result, err := strategicpatch.StrategicMergePatch(data, body, object{})
	if err != nil {
		return nil, fmt.Errorf("apply patch: %w", err)
	}
	if err := json.Unmarshal(result, &changed); err != nil {
		return nil, fmt.Errorf("decode changed object: %w", err)
	}
	for _, c := range append(changed.Spec.Template.Spec.Containers, changed.Spec.JobTemplate.Spec.Template.Spec.Containers...) {
		for _, v := range c.Env {
			ours := func(m Mark) bool { return m.Env == v.Name && !m.Remove && m.in(c.Name) }
			if v.ValueFrom != nil && slices.ContainsFunc(r.Marks, ours) {
				return nil, fmt.Errorf("%w: %s of container %q", ErrTaken, v.Name, c.Name)
			}
		}
	}
	return result, nil
}
