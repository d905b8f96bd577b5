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
)

// build makes parts in dir.
type build struct {
	root     string
	dir      string
	versions versions
	progress io.Writer
}

// all builds each of missing in a folder of its own and moves it into dir when it is complete.
func (b build) all(ctx context.Context, missing []source) error {
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(b.progress, "kube: building %s of Kubernetes %s into %s\n", names(missing), b.versions.kubernetes, b.dir)
	staging, err := b.staging()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	for i, s := range missing {
		fmt.Fprintf(b.progress, "kube: building %s (%d of %d)\n", s.part, i+1, len(missing))
		output := filepath.Join(staging, string(s.part))
		if err := b.one(ctx, s, output); err != nil {
			return fmt.Errorf("build %s: %w", s.part, err)
		}
		if err := os.Rename(output, filepath.Join(b.dir, string(s.part))); err != nil {
			return err
		}
	}
	return nil
}

func names(sources []source) string {
	var list []string
	for _, s := range sources {
		list = append(list, string(s.part))
	}
	return strings.Join(list, ", ")
}

// staging makes an empty folder next to the results, after removing those of builds that were cut short; we hold the lock.
func (b build) staging() (string, error) {
	old, err := filepath.Glob(filepath.Join(b.dir, ".build-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(b.dir, ".build-")
}

// one builds a part as output.
func (b build) one(ctx context.Context, s source, output string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", s.ldflags(b.versions), "-o", output, s.pkg)
	cmd.Dir = filepath.Join(b.root, s.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
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
