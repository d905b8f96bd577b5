package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// build makes parts in dir.
type build struct {
	modules  []string
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
	fmt.Fprintln(b.progress, "kube: looking for what there is to compile; the first time this fetches the sources")
	stale, err := b.stale(ctx, missing)
	if err != nil {
		return err
	}
	staging, err := b.staging()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	meter := newMeter(b.progress, stale, len(missing))
	for _, s := range missing {
		meter.begin(s.part)
		output := filepath.Join(staging, string(s.part))
		if err := b.one(ctx, s, output, meter); err != nil {
			return fmt.Errorf("build %s: %w", s.part, err)
		}
		if err := os.Rename(output, filepath.Join(b.dir, string(s.part))); err != nil {
			return err
		}
		meter.end()
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

// staging makes an empty folder beside the results, after removing those of builds that were cut short; we hold the lock.
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

// staleTemplate names what would be compiled. Programs themselves always count as stale; they are linked, not listed.
const staleTemplate = `{{if and .Stale (ne .Name "main")}}{{.ImportPath}}{{end}}`

// stale returns the packages that the Go build cache does not hold yet.
func (b build) stale(ctx context.Context, missing []source) (map[string]bool, error) {
	stale := map[string]bool{}
	for _, module := range b.modules {
		args := []string{"list", "-deps", "-mod=readonly", "-trimpath", "-buildvcs=false", "-f", staleTemplate}
		n := len(args)
		for _, s := range missing {
			if s.module == module {
				args = append(args, s.pkg)
			}
		}
		if len(args) == n {
			continue
		}
		var output strings.Builder
		if err := b.goTool(ctx, module, args, &output, nil); err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", module, err)
		}
		for pkg := range strings.FieldsSeq(output.String()) {
			stale[pkg] = true
		}
	}
	return stale, nil
}

// one builds a part as output.
func (b build) one(ctx context.Context, s source, output string, meter *meter) error {
	args := []string{"build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", s.ldflags(b.versions), "-o", output, s.pkg}
	return b.goTool(ctx, s.module, args, nil, meter.compiled)
}

// goTool runs the go command in a module and hands each line of its standard error to known, which may be nil. An error carries the
// last of those that known does not take.
func (b build) goTool(ctx context.Context, module string, args []string, stdout io.Writer, known func(string) bool) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	cmd.Stdout = stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	last := readLines(stderr, known)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("go %s: %w", args[0], context.Cause(ctx))
		}
		return fmt.Errorf("go %s: %w\n%s", args[0], err, strings.Join(last, "\n"))
	}
	return nil
}

// readLines returns the last few lines of r that known, if there is one, does not take.
func readLines(r io.Reader, known func(string) bool) []string {
	var last []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if known != nil && known(lines.Text()) {
			continue
		}
		last = append(last, lines.Text())
		last = slices.Delete(last, 0, max(0, len(last)-tailLines))
	}
	return last
}
