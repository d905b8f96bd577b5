package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// program is a process that is started again whenever it ends, as a cluster would.
type program struct {
	name, binary string
	args, env    []string
	logFile      string

	// gate is locked while the program is held back.
	gate sync.Mutex

	mu      sync.Mutex
	process *os.Process
	// over is closed when the process that was started last has ended.
	over chan struct{}
	// away is how long to wait before the next start.
	away time.Duration
	// kills are those of kill, ends those that the program chose itself.
	kills, ends int
}

// restartPause is how long a program that ended by itself stays away.
const restartPause = 500 * time.Millisecond

// keep runs the program until ctx ends, which kills it.
func (p *program) keep(ctx context.Context) error {
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // anyone who reads it has read what was written
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, p.binary, p.args...)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Env = append(os.Environ(), p.env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		over, err := p.start(cmd)
		if err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
		_ = cmd.Wait() // it is started again, however it ended
		close(over)
		pause(ctx, p.ended(ctx))
	}
	return nil
}

// start starts a process, once nobody holds the program back.
func (p *program) start(cmd *exec.Cmd) (over chan struct{}, err error) {
	p.gate.Lock()
	defer p.gate.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process, p.away, p.over = cmd.Process, -1, make(chan struct{})
	return p.over, nil
}

// hold ends the program at once, and keeps it away until the returned function is called. It returns when the process has ended.
func (p *program) hold() (release func()) {
	p.gate.Lock()
	p.kill(0)
	p.mu.Lock()
	over := p.over
	p.mu.Unlock()
	if over != nil {
		<-over
	}
	return p.gate.Unlock
}

// ended takes note of an end and returns how long to stay away.
func (p *program) ended(ctx context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process = nil
	if p.away >= 0 {
		return p.away
	}
	if ctx.Err() == nil {
		p.ends++
	}
	return restartPause
}

// kill ends the program at once, as a crash would, and keeps it away for a while. It reports whether one ran.
func (p *program) kill(away time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return false
	}
	if p.process.Kill() != nil {
		return false
	}
	p.away = away
	p.process = nil
	p.kills++
	return true
}

func (p *program) counts() (kills, ends int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kills, p.ends
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
