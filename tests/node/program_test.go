//go:build linux

package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// tailLines is how many lines of a program's log an error shows.
const tailLines = 25

// program is a program of the node that writes to a log file.
type program struct {
	name, log string
	// done is closed when it has ended.
	done chan struct{}
	cmd  *exec.Cmd
}

// start runs a program. It ends with the namespace at the latest.
func (n *node) start(path string, args ...string) (*program, error) {
	name := filepath.Base(path)
	p := &program{name: name, log: filepath.Join(n.dir, name+".log"), done: make(chan struct{}), cmd: exec.Command(path, args...)}
	file, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the program has its own
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = file, file, n.dir
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the log says why
		close(p.done)
	}()
	n.programs = append(n.programs, p)
	return p, nil
}

// tail returns the last lines of the program's log.
func (p *program) tail() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return p.name + " says:\n" + strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// await waits until check returns nil. The error has the end of the program's log.
func (p *program) await(ctx context.Context, check func(context.Context) error) error {
	err := line.Poll(ctx, func(ctx context.Context) error {
		select {
		case <-p.done:
			return line.Stop(fmt.Errorf("%s has ended", p.name))
		default:
			return check(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.tail())
	}
	return nil
}

// end kills the program.
func (p *program) end() {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.done:
	case <-time.After(time.Second): // the kernel ends it with the namespace
	}
}
