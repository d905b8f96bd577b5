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
func gate(t *testing.T, token func(*authenticationv1.TokenReview) int, access func(*authorizationv1.SubjectAccessReview) int, audiences ...string) *Gate {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) { review(w, r, token) })
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) { review(w, r, access) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g, err := New(Options{Audiences: audiences, API: &rest.Config{Host: server.URL, Impersonate: rest.ImpersonationConfig{UserName: asker}}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// asker is who asks for reviews: the user that the configuration impersonates.
const asker = "asker@example.com"

// review answers a review.
func review[R any](w http.ResponseWriter, r *http.Request, answer func(*R) int) {
	var body R
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Impersonate-User") != asker {
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

func allowed(r *authorizationv1.SubjectAccessReview) int {
	r.Status.Allowed = true
	return http.StatusCreated
}

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

// TestAudiences: a token counts if it is for one of those that are asked for, also where the API server knows nothing of audiences.
func TestAudiences(t *testing.T) {
	for name, tc := range map[string]struct {
		want, got []string
		ok        bool
	}{
		"any will do":      {ok: true},
		"for us":           {want: []string{"reroll", "spare"}, got: []string{"other", "spare"}, ok: true},
		"for somebody":     {want: []string{"reroll"}, got: []string{"other"}},
		"the server's own": {want: []string{"reroll"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			g := gate(t, func(r *authenticationv1.TokenReview) int {
				asked = r.Spec.Audiences
				r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: tc.got, User: authenticationv1.UserInfo{Username: "alice"}}
				return http.StatusCreated
			}, answers[authorizationv1.SubjectAccessReview](0), tc.want...)
			if _, ok, err := g.Authenticate(request("t")); ok != tc.ok || err != nil || !cmp.Equal(asked, tc.want) {
				t.Errorf("%t %v, asked for %v", ok, err, asked)
			}
		})
	}
}

// TestQuestionsAreRepeatedOnce: a failure that may pass is no answer, and an answer is good for a while.
func TestQuestionsAreRepeatedOnce(t *testing.T) {
	asked := 0
	g := gate(t, answers[authenticationv1.TokenReview](0), func(r *authorizationv1.SubjectAccessReview) int {
		if asked++; asked == 1 {
			return http.StatusInternalServerError
		}
		return allowed(r)
	})
	for range 2 {
		if ok, err := g.Allowed(t.Context(), api.User{Name: "alice"}, api.Deed{Verb: "list", Resource: "changes"}); !ok || err != nil {
			t.Errorf("%t %v", ok, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}
