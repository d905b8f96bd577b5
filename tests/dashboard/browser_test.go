package dashboard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	chromium "github.com/reroll-dev/reroll/tests/dashboard/browser"
)

// browser is the Chromium that all tests share; each opens pages of its own.
type browser struct{ *chromium.Browser }

// params are the parameters of a command of browser/drive.mjs.
type params = chromium.Params

// stop ends the browser; nil if none was started.
var stop func()

func TestMain(m *testing.M) {
	code := m.Run()
	if stop != nil {
		stop()
	}
	os.Exit(code)
}

var start = sync.OnceValues(func() (*browser, error) {
	b, err := chromium.Start("browser")
	if err != nil {
		return nil, err
	}
	stop = b.Close
	return &browser{b}, nil
})

// startBrowser returns a Chromium, or ends the test with what it needs.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	b, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do has the driver do something. If it cannot, the test ends, with a picture of the page.
func (b *browser) do(t *testing.T, do string, p params) json.RawMessage {
	t.Helper()
	value, err := b.Do(do, p)
	if err != nil {
		b.shoot(t, "failed-"+time.Now().Format("150405"))
		t.Fatal(err)
	}
	return value
}

// read has the driver do something whose answer is a T.
func read[T any](t *testing.T, b *browser, do string, p params) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(b.do(t, do, p), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// size is that of a window.
type size struct {
	name          string
	width, height int
}

var (
	desk  = size{"1440", 1440, 900}
	phone = size{"390", 390, 844}
)

// open opens a new page of a browser that remembers nothing.
func (b *browser) open(t *testing.T, url, theme string, s size) {
	t.Helper()
	b.do(t, "open", params{"url": url, "theme": theme, "width": s.width, "height": s.height})
}

// openFailing is open where questions are not answered on purpose.
func (b *browser) openFailing(t *testing.T, url, theme string, s size) {
	t.Helper()
	b.do(t, "open", params{"url": url, "theme": theme, "width": s.width, "height": s.height, "failing": true})
}

func (b *browser) wait(t *testing.T, selector string) {
	t.Helper()
	b.do(t, "wait", params{"selector": selector})
}

func (b *browser) gone(t *testing.T, selector string) {
	t.Helper()
	b.do(t, "wait", params{"selector": selector, "state": "hidden"})
}

func (b *browser) click(t *testing.T, selector string) {
	t.Helper()
	b.do(t, "click", params{"selector": selector})
}

func (b *browser) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		b.do(t, "press", params{"key": key})
	}
}

// until waits for a script to be true.
func (b *browser) until(t *testing.T, script string) {
	t.Helper()
	b.do(t, "until", params{"script": script})
}

// shoot keeps a picture of the page.
func (b *browser) shoot(t *testing.T, name string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("screenshots", name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do("shot", params{"file": file}); err != nil {
		t.Logf("no picture of %s: %v", name, err)
	}
}

// accessible reports every violation that axe finds in the page.
func (b *browser) accessible(t *testing.T, view string) {
	t.Helper()
	for _, violation := range read[[]string](t, b, "axe", nil) {
		t.Errorf("%s: %s", view, violation)
	}
}

// faultless reports what a page may not have had since it was opened: errors, requests to another origin, violations of its policy.
func (b *browser) faultless(t *testing.T) {
	t.Helper()
	for _, fault := range read[[]string](t, b, "faults", nil) {
		t.Error(fault)
	}
}
