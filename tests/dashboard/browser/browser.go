// Package browser drives one Chromium, the machine's own, through a small program for Node, drive.mjs.
package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// maxAnswer bounds one answer of the driver.
const maxAnswer = 4 << 20

// Browser is a Chromium with one page. One goroutine at a time may use it.
type Browser struct {
	in      io.WriteCloser
	answers *bufio.Scanner
	cmd     *exec.Cmd
}

// Params are the parameters of a command of drive.mjs.
type Params map[string]any

// Start starts a Chromium. dir is the folder of drive.mjs.
func Start(dir string) (*Browser, error) {
	node, chromium, err := find()
	if err != nil {
		return nil, err
	}
	if err := install(dir); err != nil {
		return nil, err
	}
	cmd := exec.Command(node, "drive.mjs", chromium)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
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
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, maxAnswer)
	return &Browser{in: in, answers: answers, cmd: cmd}, nil
}

// Close ends the Chromium.
func (b *Browser) Close() {
	_ = b.in.Close() // which asks it to end
	_ = b.cmd.Wait()
}

// find returns Node and Chromium, or an error that says how to install what is missing.
func find() (node, chromium string, err error) {
	if node, err = exec.LookPath("node"); err != nil {
		return "", "", errors.New("needs Node 18 or newer: make setup installs it, where it can")
	}
	if chromium = os.Getenv("CHROMIUM"); chromium != "" {
		return node, chromium, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			return node, chromium, nil
		}
	}
	return "", "", errors.New("needs Chromium: make setup installs it, where it can; or set CHROMIUM to its executable")
}

// install gets the modules that the driver needs, as package-lock.json names them.
func install(dir string) error {
	installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil {
		lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
		if err == nil && installed.ModTime().After(lock.ModTime()) {
			return nil
		}
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts")
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w: %s", dir, err, output)
	}
	return nil
}

// Do runs a command of drive.mjs and returns its answer.
func (b *Browser) Do(do string, p Params) (json.RawMessage, error) {
	command := Params{"do": do}
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
