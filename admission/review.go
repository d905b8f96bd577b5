package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// decode reads a review with a request.
func decode(body []byte) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the body is not an AdmissionReview: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	switch got := review.GroupVersionKind(); {
	case got != want:
		return nil, fmt.Errorf("the body is a %.80q, not a %q", got.String(), want.String())
	case review.Request == nil:
		return nil, errors.New("the AdmissionReview has no request")
	case review.Request.UID == "" || len(review.Request.UID) > maxUID:
		return nil, fmt.Errorf("the request's uid must have between 1 and %d bytes", maxUID)
	}
	return review.Request, nil
}

// kindOf returns the kind of the workload that r updates, if its pod template says what its pods are. It reports false for requests of the dispatcher,
// and of other tools that write marks under the same name.
func kindOf(r *admissionv1.AdmissionRequest) (workload.Kind, bool) {
	i := slices.IndexFunc(workload.Kinds, func(k workload.Kind) bool {
		return k.Roll == workload.InPlace && metav1.GroupVersionResource(k.Resource) == r.Resource
	})
	var options struct {
		FieldManager string `json:"fieldManager"`
	}
	_ = json.Unmarshal(r.Options.Raw, &options) // unreadable options name no manager
	if i < 0 || r.SubResource != "" || r.Operation != admissionv1.Update || options.FieldManager == workload.MarkManager {
		return workload.Kind{}, false
	}
	return workload.Kinds[i], true
}

// answer allows a request, and says what is changed about it.
func (h *Handler) answer(ctx context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, string) {
	response := &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	patch, result, err := h.review(ctx, r)
	if patch != nil {
		form := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &form
	}
	log := h.options.Logger.With("kind", r.Kind.Kind, "namespace", r.Namespace, "name", r.Name)
	log.Debug("admission", "result", result)
	if err != nil {
		log.Warn("admission could not keep all marks", "error", err)
		text := "reroll: the marks of this workload may be out of date until the next sweep: " + err.Error()
		response.Warnings = []string{text[:min(len(text), maxWarning)]}
		return response, resultMissed
	}
	return response, result
}

// review returns the patch for a request; nil if it stays as it is. A patch that comes with an error is of use all the same.
func (h *Handler) review(ctx context.Context, r *admissionv1.AdmissionRequest) (patch []byte, result string, err error) {
	kind, known := kindOf(r)
	if !known || h.options.DryRun || !h.options.InScope(r.Namespace) {
		return nil, resultUntouched, nil
	}
	d, err := h.options.draft(kind, r.OldObject.Raw, r.Object.Raw)
	switch {
	case err != nil || d == nil:
		return nil, resultUntouched, err
	case d.now.Namespace != r.Namespace: // API servers never send that, and the namespace decides which configs are read
		return nil, resultUntouched, errors.New("the object is not in the request's namespace")
	}
	done, missed := h.see(ctx, d)
	defer done()
	brought, err := d.bring(time.Now())
	patch, failed := d.patch()
	result = map[bool]string{true: resultMarked, false: resultRestored}[brought]
	if patch == nil {
		result = resultUntouched
	}
	return patch, result, errors.Join(missed, err, failed)
}
