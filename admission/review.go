package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// decode reads a review with a request.
func decode(body []byte) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the body is no AdmissionReview: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	switch got := review.GroupVersionKind(); {
	case got != want:
		return nil, fmt.Errorf("the body is a %.80q, not a %q", got.String(), want.String())
	case review.Request == nil:
		return nil, errors.New("the AdmissionReview has no request")
	case review.Request.UID == "" || len(review.Request.UID) > maxUID:
		return nil, fmt.Errorf("the request's uid has not between 1 and %d bytes", maxUID)
	}
	return review.Request, inOneNamespace(review.Request)
}

// inOneNamespace returns an error if the objects of a request are not in its namespace. API servers see to that, and what follows relies on it:
// the namespace decides whether the workload counts, and which configs are read.
func inOneNamespace(r *admissionv1.AdmissionRequest) error {
	for _, raw := range [][]byte{r.Object.Raw, r.OldObject.Raw} {
		var object struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		if len(raw) > 0 && json.Unmarshal(raw, &object) == nil && object.Metadata.Namespace != r.Namespace {
			return fmt.Errorf("the object is not in the request's namespace")
		}
	}
	return nil
}

// kindOf returns the kind of workload that r is about, if it creates or updates one whose pod template says what its pods are.
func kindOf(r *admissionv1.AdmissionRequest) (workload.Kind, bool) {
	if r.SubResource != "" || r.Operation != admissionv1.Create && r.Operation != admissionv1.Update {
		return workload.Kind{}, false
	}
	i := slices.IndexFunc(workload.Kinds, func(k workload.Kind) bool {
		return k.Roll == workload.InPlace && metav1.GroupVersionResource(k.Resource) == r.Resource
	})
	if i < 0 {
		return workload.Kind{}, false
	}
	return workload.Kinds[i], true
}

// marks reports whether r comes from somebody who writes marks: they know what they do.
func marks(r *admissionv1.AdmissionRequest) bool {
	var options struct {
		FieldManager string `json:"fieldManager"`
	}
	return json.Unmarshal(r.Options.Raw, &options) == nil && options.FieldManager == workload.MarkManager
}
