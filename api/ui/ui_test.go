package ui

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// maxScript bounds what a browser loads before the page is there, in bytes as sent.
const maxScript = 40 << 10

func get(t *testing.T, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	router := chi.NewRouter()
	Mount(router)
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	router.ServeHTTP(w, r)
	return w
}

func TestEveryFileIsServedWithItsPolicyAndType(t *testing.T) {
	for name, f := range files() {
		target := "/assets/" + name
		if name == "index.html" {
			target = "/"
		}
		t.Run(name, func(t *testing.T) {
			w := get(t, target)
			if w.Code != http.StatusOK || w.Body.Len() == 0 || w.Body.Len() != len(f.plain) {
				t.Fatalf("GET %s: %d with %d bytes, want %d", target, w.Code, w.Body.Len(), len(f.plain))
			}
			if f.mediaType == "" || w.Header().Get("Content-Type") != f.mediaType {
				t.Errorf("content type %q", w.Header().Get("Content-Type"))
			}
			if got := w.Header().Get("Content-Security-Policy"); got != Policy {
				t.Errorf("policy %q", got)
			}
			if w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("a cache may show it out of date, or in a coding that was not asked for: %v", w.Header())
			}
		})
	}
}

func TestPolicyForbidsWhatIsInlineOrElsewhere(t *testing.T) {
	if !strings.HasPrefix(Policy, "default-src 'none';") {
		t.Errorf("what the policy does not name is allowed: %s", Policy)
	}
	for _, leak := range []string{"unsafe", "http:", "https:", "data:", "blob:", "*"} {
		if strings.Contains(Policy, leak) {
			t.Errorf("the policy has %s: %s", leak, Policy)
		}
	}
}

var inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\son[a-z]+=|\sstyle=|(src|href)="(https?:)?//`)

func TestPageHasNothingInlineOrElsewhere(t *testing.T) {
	page := get(t, "/").Body.String()
	if found := inline.FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, attack := range []string{`<script>x`, `<p style="x">`, `<p onclick="x">`, `<img src="//x">`, `<a href="https://x">`} {
		if !inline.MatchString(attack) {
			t.Errorf("this test would not see %s", attack)
		}
	}
	for _, name := range regexp.MustCompile(`assets/[a-z.]+`).FindAllString(page, -1) {
		if code := get(t, "/"+name).Code; code != http.StatusOK {
			t.Errorf("the page asks for %s: %d", name, code)
		}
	}
}

func TestScriptIsSmall(t *testing.T) {
	sent := 0
	for name, f := range files() {
		if strings.HasSuffix(name, ".js") {
			sent += len(f.zipped)
		}
	}
	if sent > maxScript {
		t.Errorf("the scripts are %d bytes as sent, at most %d are meant to be", sent, maxScript)
	}
}

func TestLicencesGoAlong(t *testing.T) {
	notice := get(t, "/assets/NOTICE.txt").Body.String()
	for _, part := range []string{"preact", "@preact/signals", "Permission is hereby granted"} {
		if !strings.Contains(notice, part) {
			t.Errorf("NOTICE.txt does not have %q", part)
		}
	}
}
