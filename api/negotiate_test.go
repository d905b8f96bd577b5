package api

import (
	"net/http/httptest"
	"testing"
)

func TestAccept(t *testing.T) {
	f := newFixture(t)
	f.populate()
	cases := map[string]struct {
		target, accept string
		code           int
		contentType    string
	}{
		"nothing said":              {"/api/v1/self", "", 200, "application/json"},
		"JSON":                      {"/api/v1/self", "application/json", 200, "application/json"},
		"a browser":                 {"/api/v1/self", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", 200, "application/json"},
		"kind of media":             {"/api/v1/self", "application/*;q=0.1", 200, "application/json"},
		"nothing that can be read":  {"/api/v1/self", "json", 200, "application/json"},
		"rubbish":                   {"/api/v1/self", "\x00", 200, "application/json"},
		"something else":            {"/api/v1/self", "text/html", 406, "application/problem+json"},
		"another encoding":          {"/api/v1/self", "application/cbor", 406, "application/problem+json"},
		"nothing at all":            {"/api/v1/self", "*/*;q=0", 406, "application/problem+json"},
		"all but JSON":              {"/api/v1/self", "*/*, application/json;q=0", 406, "application/problem+json"},
		"events as JSON":            {"/api/v1/events", "application/json", 406, "application/problem+json"},
		"quality that is no number": {"/api/v1/self", "text/html;q=NaN", 200, "application/json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", tc.target, nil)
			if tc.accept != "" {
				r.Header.Set("Accept", tc.accept)
			}
			w := f.do(t, r)
			if w.Code != tc.code || w.Header().Get("Content-Type") != tc.contentType {
				t.Errorf("Accept %q: got %d %q, want %d %q", tc.accept, w.Code, w.Header().Get("Content-Type"), tc.code, tc.contentType)
			}
		})
	}
}

func TestOtherMethodsAreNamed(t *testing.T) {
	f := newFixture(t)
	for target, want := range map[string]string{"/api/v1/impact": "POST", "/api/v1/self": "GET, HEAD"} {
		w := f.do(t, httptest.NewRequest("DELETE", target, nil))
		if w.Code != 405 || w.Header().Get("Allow") != want {
			t.Errorf("DELETE %s: got %d, Allow %q, want %q", target, w.Code, w.Header().Get("Allow"), want)
		}
		checkProblem(t, w)
	}
}
