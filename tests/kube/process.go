package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// tailLines is how many lines of a program's log an error shows.
const tailLines = 25

// Program is a running program that writes to a log file.
type Program struct {
	name    string
	command *exec.Cmd
	logFile string
	// done is closed when the program has ended; err is set before.
	done chan struct{}
	err  error
}

// StartProgram runs a binary with args in dir, and appends what it writes to <dir>/<name>.log. It ends with this process at the latest.
func StartProgram(binary string, args []string, dir string) (*Program, error) {
	name := filepath.Base(binary)
	p := &Program{name: name, logFile: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	p.command = exec.Command(binary, args...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Dir = dir
	// A terminal's Ctrl-C does not reach a process group of its own, and the kernel ends the program when the thread that started it ends.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer func() { _ = log.Close() }()
		p.run(started)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run starts the program and waits for its end, on one thread: the kernel takes the end of the thread that started a program for
// the end of its parent.
func (p *Program) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.command.Wait()
	close(p.done)
}

func (p *Program) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// exited returns an error with the end of the log if the program has ended, and nil while it runs.
func (p *Program) exited() error {
	if p.running() {
		return nil
	}
	if p.err != nil {
		return p.failure(fmt.Errorf("ended: %w", p.err))
	}
	return p.failure(errors.New("ended"))
}

// failure adds the program's name and the end of its log to cause.
func (p *Program) failure(cause error) error {
	return fmt.Errorf("%s: %w\n%s", p.name, cause, p.Tail())
}

// terminate asks the program to end and waits until it has. It is killed if ctx ends first.
func (p *Program) terminate(ctx context.Context) error {
	_ = p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.Kill()
		return p.failure(fmt.Errorf("did not end when asked to: %w", context.Cause(ctx)))
	}
}

// Kill ends the program and all it started at once, and waits until the program has ended.
func (p *Program) Kill() {
	_ = p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends s to the program's process group unless the program has ended, whose number may belong to another by now.
func (p *Program) signal(s syscall.Signal) error {
	if !p.running() {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.command.Process.Pid, s)
}

// Tail returns the last lines of the log, or why they cannot be read.
func (p *Program) Tail() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return "the log of " + p.name + " ends with:\n" + strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
