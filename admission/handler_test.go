package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// request returns the review of a Deployment.
func request(t testing.TB, before, after *appsv1.Deployment, change func(*admissionv1.AdmissionRequest)) []byte {
	t.Helper()
	r := &admissionv1.AdmissionRequest{
		UID: "review-1", Operation: admissionv1.Update, Namespace: namespace, Name: "web",
		Kind:     metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource: metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Object:   runtime.RawExtension{Raw: rawOf(t, after)}, Options: runtime.RawExtension{Raw: []byte(`{"fieldManager":"helm"}`)},
	}
	if before == nil {
		r.Operation = admissionv1.Create
	} else {
		r.OldObject = runtime.RawExtension{Raw: rawOf(t, before)}
	}
	if change != nil {
		change(r)
	}
	review := admissionv1.AdmissionReview{Request: r}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	return rawOf(t, review)
}

// provenPath is where API servers call now.
func provenPath(t testing.TB) string { return PathAt(rulesOf(t).Ring, time.Now()) }

func post(t testing.TB, h http.Handler, query string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, provenPath(t)+query, bytes.NewReader(body)))
	return answer
}

// response returns what is answered to a review, which must be allowed.
func response(t testing.TB, h http.Handler, query string, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	answer := post(t, h, query, body)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	if r := review.Response; !r.Allowed || r.UID != "review-1" || review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" {
		t.Fatalf("answer %s", answer.Body)
	}
	return review.Response
}

var (
	imageOne = deployment{opted: auto, env: env(configVar, "00"), image: "1"}
	imageTwo = deployment{opted: auto, env: env(configVar, "00"), image: "2"}
)

// TestWhoseRequest: only the requests that can be about marks lead to reads and patches.
func TestWhoseRequest(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*admissionv1.AdmissionRequest)
		options func(*Options)
		touched bool
	}{
		"an update":       {"it changes the template", nil, nil, true},
		"a dry run of it": {"nothing is written here, so that it is answered alike", func(r *admissionv1.AdmissionRequest) { yes := true; r.DryRun = &yes }, nil, true},
		"the dispatcher's": {
			"who writes marks knows what they do",
			func(r *admissionv1.AdmissionRequest) { r.Options.Raw = []byte(`{"fieldManager":"Reloader"}`) }, nil, false,
		},
		"a creation":  {"its pods start with what is there", func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Create }, nil, false},
		"a Job":       {"its template cannot be changed", func(r *admissionv1.AdmissionRequest) { r.Resource.Resource, r.Resource.Group = "jobs", "batch" }, nil, false},
		"elsewhere":   {"its namespace does not count", nil, func(o *Options) { o.InScope = func(string) bool { return false } }, false},
		"our dry run": {"nothing is to be changed", nil, func(o *Options) { o.DryRun = true }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := &world{values: map[reloader.Config]string{config: "new", other: "new"}}
			h := newHandler(t, w, tc.options)
			got := response(t, h, "", request(t, imageOne.object(), imageTwo.object(), tc.change))
			if touched := len(got.Patch) > 0; touched != tc.touched || touched != (len(w.reads) > 0) || len(got.Warnings) > 0 {
				t.Errorf("patch %s after %d reads, warnings %q: %s", got.Patch, len(w.reads), got.Warnings, tc.reason)
			}
			if tc.touched && *got.PatchType != admissionv1.PatchTypeJSONPatch {
				t.Errorf("the patch is a %q", *got.PatchType)
			}
		})
	}
}

// TestNothingIsReadInVain: a request that leaves the template alone costs no read.
func TestNothingIsReadInVain(t *testing.T) {
	w := &world{}
	after := imageOne
	after.env, after.replicas = nil, 7
	got := response(t, newHandler(t, w, nil), "", request(t, imageOne.object(), after.object(), nil))
	if len(w.reads) > 0 || !strings.Contains(string(got.Patch), configVar) {
		t.Errorf("%d reads, patch %s", len(w.reads), got.Patch)
	}
}

// TestTroubleIsAllowed: what goes wrong keeps nobody from writing, and is told to anyone who writes and in a metric. What can be done is.
func TestTroubleIsAllowed(t *testing.T) {
	dropped := imageTwo
	dropped.env = nil
	cases := map[string]struct {
		world  world
		after  deployment
		change func(*admissionv1.AdmissionRequest)
		says   string
		patch  bool
	}{
		"no right to read":  {world: world{err: errors.New("it is forbidden")}, after: dropped, says: "it is forbidden", patch: true},
		"a slow API server": {world: world{values: map[reloader.Config]string{config: "slow"}}, after: dropped, says: "deadline exceeded", patch: true},
		"no object": {after: imageTwo, change: func(r *admissionv1.AdmissionRequest) {
			r.Object.Raw = []byte(`{"metadata":{"namespace":"shop"},"spec":{"template":7}}`)
		}, says: "read Deployment"},
		"too many configs": {after: many(maxConfigs + 1), says: "129 configs, more than 128"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			h := newHandler(t, &tc.world, func(o *Options) { o.Registerer = registry })
			got := response(t, h, "?timeout=600ms", request(t, imageOne.object(), tc.after.object(), tc.change))
			if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], tc.says) || len(got.Warnings[0]) > maxWarning {
				t.Errorf("warnings %q, want one that says %q", got.Warnings, tc.says)
			}
			if restored := strings.Contains(string(got.Patch), configVar); restored != tc.patch {
				t.Errorf("patch %s", got.Patch)
			}
			if missed := testutil.ToFloat64(h.metrics.reviews.WithLabelValues(resultMissed)); missed != 1 {
				t.Errorf("%v reviews were missed", missed)
			}
		})
	}
}

// many returns a Deployment with an image of its own that names n configs.
func many(n int) deployment {
	names := make([]string, n)
	for i := range names {
		names[i] = "c" + strings.Repeat("x", i)
	}
	d := imageTwo
	d.opted = map[string]string{"configmap.reloader.stakater.com/reload": strings.Join(names, ",")}
	return d
}

// TestRefused: what is no review is an error, since nobody knows what to allow.
func TestRefused(t *testing.T) {
	good := request(t, imageOne.object(), imageTwo.object(), nil)
	for name, tc := range map[string]struct {
		method, path string
		body         []byte
		code         int
		says         string
	}{
		"another path":    {http.MethodPost, "/", good, http.StatusNotFound, ""},
		"another method":  {http.MethodGet, provenPath(t), good, http.StatusMethodNotAllowed, "only POST"},
		"no JSON":         {http.MethodPost, provenPath(t), []byte("x"), http.StatusBadRequest, "not an AdmissionReview"},
		"an old version":  {http.MethodPost, provenPath(t), bytes.Replace(good, []byte("admission.k8s.io/v1"), []byte("admission.k8s.io/v1beta1"), 1), http.StatusBadRequest, "v1beta1"},
		"no uid":          {http.MethodPost, provenPath(t), bytes.Replace(good, []byte("review-1"), nil, 1), http.StatusBadRequest, "uid"},
		"too long a body": {http.MethodPost, provenPath(t), append(good, bytes.Repeat([]byte(" "), maxBodyBytes)...), http.StatusRequestEntityTooLarge, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			newHandler(t, &world{}, nil).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, bytes.NewReader(tc.body)))
			if answer.Code != tc.code || !strings.Contains(answer.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d and %q", answer.Code, answer.Body, tc.code, tc.says)
			}
		})
	}
}

// TestContentStaysHere: no value of a config is in an answer.
func TestContentStaysHere(t *testing.T) {
	w := &world{values: map[reloader.Config]string{config: "hush-hush", other: "hush-hush"}}
	answer := post(t, newHandler(t, w, nil), "", request(t, imageOne.object(), imageTwo.object(), nil))
	if strings.Contains(answer.Body.String(), "hush") || !strings.Contains(answer.Body.String(), "patch") {
		t.Errorf("answer %s", answer.Body)
	}
}

// FuzzReview: whatever comes is refused or allowed, and a patch applies to the object that it is for.
func FuzzReview(f *testing.F) {
	f.Add(request(f, imageOne.object(), imageTwo.object(), nil))
	f.Add(request(f, nil, imageOne.object(), nil))
	f.Add(request(f, imageOne.object(), deployment{opted: auto}.object(), nil))
	f.Add(request(f, deployment{opted: map[string]string{"pod-reloader.cs.sap.com/configmaps": "app"}, image: "1"}.object(), deployment{opted: map[string]string{"pod-reloader.cs.sap.com/configmaps": "app"}, annotations: map[string]string{dialect.SAPHashKey: "stale"}}.object(), nil))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := &world{values: map[reloader.Config]string{config: "new"}}
		answer := post(t, newHandler(t, w, nil), "", body)
		if answer.Code == http.StatusBadRequest {
			return
		}
		var asked, told admissionv1.AdmissionReview
		if err := errors.Join(json.Unmarshal(body, &asked), json.Unmarshal(answer.Body.Bytes(), &told)); err != nil {
			t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
		}
		if !told.Response.Allowed || told.Response.UID != asked.Request.UID {
			t.Errorf("answer %s", answer.Body)
		}
		if len(told.Response.Patch) > 0 {
			apply(t, asked.Request.Object.Raw, told.Response.Patch)
		}
	})
}
