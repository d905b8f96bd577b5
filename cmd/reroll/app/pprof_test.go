package app

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// profiled starts the part with an address, and returns what it logs and where it listens, if it does.
func profiled(t *testing.T, s Settings) (p *program, log *strings.Builder, url string) {
	t.Helper()
	log = &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	p = &program{house: newHouse(logger), settings: s, logger: logger}
	if err := p.servePprof(t.Context()); err != nil {
		t.Fatal(err)
	}
	if port := regexp.MustCompile(`address=\S*:(\d+)`).FindStringSubmatch(log.String()); port != nil {
		url = "http://127.0.0.1:" + port[1]
	}
	return p, log, url
}

func profileSettings(address string) Settings {
	return Settings{Stakater: Stakater{EnablePprof: true, PprofAddr: address}}
}

func get(url string) (int, string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// getAs asks as a page does whose name leads to the address of url.
func getAs(url, host string) (int, error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Host = host
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// TestProfilesAreOnTheLoopbackByDefault: whoever asks for profiles alone shows them to nobody else.
func TestProfilesAreOnTheLoopbackByDefault(t *testing.T) {
	s, err := settingsOf(t, "serve", "--enable-pprof")
	if err != nil || !s.EnablePprof || !loopback(s.PprofAddr) {
		t.Errorf("profiles %t at %q, %v, want them on the loopback", s.EnablePprof, s.PprofAddr, err)
	}
}

func TestProfilesAreOffByDefault(t *testing.T) {
	p, log, url := profiled(t, Settings{Stakater: Stakater{PprofAddr: "127.0.0.1:0"}})
	if url != "" || log.Len() > 0 || len(p.ends) > 0 {
		t.Errorf("profiles are served at %q although nobody asked: %s", url, log)
	}
}

func TestProfiles(t *testing.T) {
	p, log, url := profiled(t, profileSettings("127.0.0.1:0"))
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/debug/pprof/":                  {200, "goroutine"},
		"/debug/pprof/goroutine?debug=1": {200, "goroutine profile: total"},
		"/debug/pprof/heap":              {200, "\x1f\x8b"},
		"/debug/pprof/cmdline":           {200, "app.test"},
		"/debug/pprof/symbol":            {200, "num_symbols: 1"},
		"/debug/pprof/trace?seconds=0":   {200, ""},
		"/metrics":                       {404, ""},
	} {
		code, body, err := get(url + path)
		if err != nil || code != want.code || !strings.Contains(body, want.body) {
			t.Errorf("%s: code %d, error %v, want %d and %q in %.80q", path, code, err, want.code, want.body, body)
		}
	}
	if code, err := getAs(url+"/debug/pprof/heap", "evil.example"); err != nil || code != http.StatusForbidden {
		t.Errorf("a page whose name leads to the loopback reads a profile: code %d, error %v", code, err)
	}
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("a loopback address is warned of: %s", log)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if code, _, err := get(url + "/debug/pprof/"); err == nil {
		t.Errorf("profiles are served after the end: code %d", code)
	}
}

func TestProfilesOnEveryInterfaceAreWarnedOf(t *testing.T) {
	p, log, _ := profiled(t, profileSettings(":0"))
	if want := `level=WARN msg="profiles can be read by whoever reaches the address"`; !strings.Contains(log.String(), want) {
		t.Errorf("no warning in %s", log)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// TestProfileDoesNotHoldUpTheEnd asks for a long profile and ends the process.
func TestProfileDoesNotHoldUpTheEnd(t *testing.T) {
	p, _, url := profiled(t, profileSettings("127.0.0.1:0"))
	done := make(chan error, 1)
	go func() {
		_, _, err := get(url + "/debug/pprof/trace?seconds=3600")
		done <- err
	}()
	for begun := false; !begun; {
		_, goroutines, err := get(url + "/debug/pprof/goroutine?debug=2")
		if err != nil {
			t.Fatal(err)
		}
		begun = strings.Contains(goroutines, "net/http/pprof.Trace(")
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the profile is cut off: %v", err)
	}
}

func TestProfilesNeedTheirAddress(t *testing.T) {
	p := &program{house: newHouse(quiet()), settings: profileSettings("nowhere"), logger: quiet()}
	if err := p.servePprof(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "pprof: ") {
		t.Errorf("error %v", err)
	}
}
