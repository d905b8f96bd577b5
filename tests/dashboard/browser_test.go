package dashboard

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// maxAnswer bounds one answer of the driver.
const maxAnswer = 4 << 20

// browser is a Chromium with one page.
type browser struct {
	in      io.Writer
	answers *bufio.Scanner
}

// params are the parameters of a command of browser/drive.mjs.
type params map[string]any

// stop ends the browser; nil if none was started.
var stop func()

func TestMain(m *testing.M) {
	code := m.Run()
	if stop != nil {
		stop()
	}
	os.Exit(code)
}

// start starts the Chromium that all tests share; each opens pages of its own.
var start = sync.OnceValues(func() (*browser, error) {
	node, chromium, err := needs()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, "drive.mjs", chromium)
	cmd.Dir, cmd.Stderr = "browser", os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = in.Close() // which asks it to end
		_ = cmd.Wait()
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, maxAnswer)
	return &browser{in: in, answers: answers}, nil
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

// needs returns Node and Chromium, or says what to do if one of them is missing.
func needs() (node, chromium string, err error) {
	if node, err = exec.LookPath("node"); err != nil {
		return "", "", errors.New("the dashboard's tests need Node 18 or newer: make setup installs it, where it can")
	}
	if chromium = os.Getenv("CHROMIUM"); chromium != "" {
		return node, chromium, install()
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			return node, chromium, install()
		}
	}
	return "", "", errors.New("the dashboard's tests need Chromium: make setup installs it, where it can; or set CHROMIUM to its executable")
}

// install gets the modules that the driver needs, as browser/package-lock.json names them.
func install() error {
	installed, err := os.Stat(filepath.Join("browser", "node_modules", ".package-lock.json"))
	if err == nil {
		lock, err := os.Stat(filepath.Join("browser", "package-lock.json"))
		if err == nil && installed.ModTime().After(lock.ModTime()) {
			return nil
		}
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts")
	cmd.Dir = "browser"
	if output, err := cmd.CombinedOutput(); err != nil {
		return errors.New("npm ci in tests/dashboard/browser: " + err.Error() + ": " + string(output))
	}
	return nil
}

// try has the driver do something and returns what it answers.
func (b *browser) try(do string, p params) (json.RawMessage, error) {
	command := params{"do": do}
	for name, value := range p {
		command[name] = value
	}
	line, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if !b.answers.Scan() {
		return nil, errors.Join(errors.New("the driver has ended"), b.answers.Err())
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(b.answers.Bytes(), &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Value, nil
}

// do has the driver do something. If it cannot, the test ends, with a picture of the page.
func (b *browser) do(t *testing.T, do string, p params) json.RawMessage {
	t.Helper()
	value, err := b.try(do, p)
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
	if _, err := b.try("shot", params{"file": file}); err != nil {
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
