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

// process is a running program of a cluster that writes to a log file.
type process struct {
	name    string
	command *exec.Cmd
	logFile string
	// done is closed when the program has ended; err is set before.
	done chan struct{}
	err  error
}

// startProcess runs binary with args and appends what it writes to <logDir>/<name>.log.
func startProcess(name, binary string, args []string, logDir string) (*process, error) {
	p := &process{name: name, logFile: logPath(logDir, name), done: make(chan struct{})}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	p.command = exec.Command(binary, args...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Dir = logDir
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

func logPath(dir, name string) string { return filepath.Join(dir, name+".log") }

// run starts the program and waits for its end, on one thread: the kernel takes the end of the thread that started a program for
// the end of its parent.
func (p *process) run(started chan<- error) {
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

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// exited returns an error with the end of the log if the program has ended, and nil while it runs.
func (p *process) exited() error {
	if p.running() {
		return nil
	}
	if p.err != nil {
		return p.failure(fmt.Errorf("ended: %w", p.err))
	}
	return p.failure(errors.New("ended"))
}

// failure adds the program's name and the end of its log to cause.
func (p *process) failure(cause error) error {
	return fmt.Errorf("%s: %w\nits log ends with:\n%s", p.name, cause, tail(p.logFile, tailLines))
}

// terminate asks the program to end and waits until it has. It is killed if ctx ends first.
func (p *process) terminate(ctx context.Context) error {
	_ = p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.kill()
		return p.failure(fmt.Errorf("did not end when asked to: %w", context.Cause(ctx)))
	}
}

// kill ends the program and all it started at once, and waits until the program has ended.
func (p *process) kill() {
	_ = p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends s to the program's process group unless the program has ended, whose number may belong to another by now.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.command.Process.Pid, s)
}

// tail returns the last n lines of a file, or why they cannot be read.
func tail(file string, n int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
