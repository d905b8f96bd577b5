package kube

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// build makes parts in dir.
type build struct {
	root     string
	dir      string
	versions versions
	progress io.Writer
}

// all builds the missing parts, those of one module at once, in a folder of their own and moves each into dir when it is complete.
func (b build) all(ctx context.Context, missing kit) error {
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(b.progress, "kube: building %s of Kubernetes %s into %s\n", names(missing), b.versions.kubernetes, b.dir)
	staging, err := os.MkdirTemp(b.dir, ".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	modules := map[string]kit{}
	for _, s := range missing {
		modules[s.module] = append(modules[s.module], s)
	}
	for module, parts := range modules {
		if err := b.module(ctx, module, parts, staging); err != nil {
			return fmt.Errorf("build %s: %w", names(parts), err)
		}
	}
	for _, s := range missing {
		if err := os.Rename(filepath.Join(staging, s.executable()), filepath.Join(b.dir, string(s.part))); err != nil {
			return err
		}
	}
	return nil
}

func names(sources kit) string {
	var list []string
	for _, s := range sources {
		list = append(list, string(s.part))
	}
	return strings.Join(list, ", ")
}

// module builds parts of one module into a folder. Flags that the tests' own builds do not have, such as -trimpath, would have the go command
// compile every package once more for the product. With more garbage than usual the compiler needs a tenth less time.
func (b build) module(ctx context.Context, module string, parts kit, into string) error {
	args := []string{"build", "-mod=readonly", "-buildvcs=false", "-ldflags", b.versions.ldflags(), "-o", into + string(filepath.Separator)}
	for _, s := range parts {
		args = append(args, s.pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOGC=400")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return fmt.Errorf("%w\n%s", err, strings.Join(lines[max(0, len(lines)-tailLines):], "\n"))
	}
	return nil
}

// lock takes the lock on file, waiting for another process that has it, and returns what gives it back. The lock ends with the
// process in any case.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

// pause waits for d, or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
