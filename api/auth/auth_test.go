package auth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/api"
)

// gate returns a Gate that believes tokens, whose API server answers reviews with what the functions make of them, and with the status
// that they return. An API server of status 0 is not there.
func gate(t *testing.T, token func(*authenticationv1.TokenReview) int, access func(*authorizationv1.SubjectAccessReview) int) *Gate {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) { review(w, r, token) })
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) { review(w, r, access) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g, err := New(Options{Tokens: true, API: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// review answers a review.
func review[R any](w http.ResponseWriter, r *http.Request, answer func(*R) int) {
	var body R
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	code := answer(&body)
	if code == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if code == http.StatusCreated {
		_ = json.NewEncoder(w).Encode(body) // who does not get it fails
	}
}

func answers[R any](code int) func(*R) int { return func(*R) int { return code } }

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/self", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestAuthenticate(t *testing.T) {
	cases := map[string]struct {
		token  string
		answer func(*authenticationv1.TokenReview) int
		ok     bool
		fails  bool
		reason string
	}{
		"believed": {token: "t", ok: true, answer: func(r *authenticationv1.TokenReview) int {
			r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "alice"}}
			return http.StatusCreated
		}, reason: "the API server says so"},
		"not believed": {token: "t", answer: func(r *authenticationv1.TokenReview) int {
			r.Status.Error = "it has expired"
			return http.StatusCreated
		}, reason: "the API server says so"},
		"none":             {reason: "nobody is asked about nothing", answer: answers[authenticationv1.TokenReview](http.StatusInternalServerError)},
		"nobody to ask":    {token: "t", fails: true, reason: "it may be a good token", answer: answers[authenticationv1.TokenReview](0)},
		"no sound answer":  {token: "t", fails: true, reason: "it may be a good token", answer: answers[authenticationv1.TokenReview](http.StatusInternalServerError)},
		"no right to ask":  {token: "t", fails: true, reason: "it may be a good token", answer: answers[authenticationv1.TokenReview](http.StatusForbidden)},
		"too long to send": {token: strings.Repeat("x", maxTokenBytes+1), reason: "no token is that long", answer: answers[authenticationv1.TokenReview](http.StatusInternalServerError)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, ok, err := gate(t, tc.answer, answers[authorizationv1.SubjectAccessReview](0)).Authenticate(request(tc.token))
			if ok != tc.ok || (err != nil) != tc.fails || ok && u.Name != "alice" {
				t.Errorf("%+v %t %v: %s", u, ok, err, tc.reason)
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	var asked authorizationv1.SubjectAccessReviewSpec
	alice := api.User{Name: "alice", UID: "u-1", Groups: []string{"staff"}, Extra: map[string][]string{"scope": {"a"}}}
	deed := api.Deed{Verb: "reload", Resource: "workloads", Namespace: "shop", Name: "cart"}
	for name, tc := range map[string]struct {
		answer authorizationv1.SubjectAccessReviewStatus
		code   int
		want   bool
	}{
		"allowed":       {answer: authorizationv1.SubjectAccessReviewStatus{Allowed: true}, code: http.StatusCreated, want: true},
		"no opinion":    {code: http.StatusCreated},
		"denied":        {answer: authorizationv1.SubjectAccessReviewStatus{Denied: true}, code: http.StatusCreated},
		"nobody to ask": {},
		"no right":      {code: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate(t, answers[authenticationv1.TokenReview](0), func(r *authorizationv1.SubjectAccessReview) int {
				asked, r.Status = r.Spec, tc.answer
				return tc.code
			})
			got, err := g.Allowed(t.Context(), alice, deed)
			if got != tc.want || (err == nil) != (tc.code == http.StatusCreated) {
				t.Errorf("%t %v, want %t", got, err, tc.want)
			}
		})
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "alice", UID: "u-1", Groups: []string{"staff"}, Extra: map[string]authorizationv1.ExtraValue{"scope": {"a"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "reload", Group: Group, Version: "v1", Resource: "workloads", Namespace: "shop", Name: "cart"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestNobodyToBelieveIsAnError(t *testing.T) {
	if _, err := New(Options{API: &rest.Config{}}); err == nil {
		t.Error("a gate that believes nobody was made")
	}
	if _, err := New(Options{ClientCAFile: "missing.pem", API: &rest.Config{}}); err == nil {
		t.Error("a gate was made of a CA that is not there")
	}
	if _, err := NewCertificate("missing.pem", "missing.key"); err == nil {
		t.Error("a certificate was made of files that are not there")
	}
}
