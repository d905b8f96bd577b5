package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fromVariable, in the environment, has the commits whose reroll is brought to the one of the sources and back, separated by spaces.
const fromVariable = "UPGRADE_FROM"

// versions returns the commits to start from. Without any, the test is skipped.
func versions(t *testing.T) []string {
	t.Helper()
	named := strings.Fields(os.Getenv(fromVariable))
	if len(named) == 0 {
		t.Skipf("%s names the commits to start from, as make upgrade does", fromVariable)
	}
	return named
}

// buildTime bounds the build of one version, with modules to fetch and nothing in the cache.
const buildTime = 20 * time.Minute

// build builds the reroll of a commit and returns its path. What was built before is used again.
func build(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	commit, err := command(ctx, "", "git", "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		t.Fatalf("this clone does not have the commit %s: fetch the whole history, or name others in %s", name, fromVariable)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(cache, "reroll", "upgrade", "reroll-"+commit)
	if _, err := os.Stat(target); err == nil {
		return target
	}
	began := time.Now()
	fmt.Fprintf(os.Stderr, "building reroll of %s, which takes a minute or two\n", name)
	if err := buildInto(ctx, t.TempDir(), commit, target); err != nil {
		t.Fatalf("build reroll of %s: %v", name, err)
	}
	fmt.Fprintf(os.Stderr, "built after %s\n", time.Since(began).Round(time.Second))
	return target
}

// buildInto unpacks a commit into dir and builds it there. The target is there whole or not at all.
func buildInto(ctx context.Context, dir, commit, target string) error {
	root, err := command(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	archive := filepath.Join(dir, "sources.tar")
	if _, err := command(ctx, root, "git", "archive", "--format=tar", "--output="+archive, commit); err != nil {
		return err
	}
	if _, err := command(ctx, dir, "tar", "-xf", archive); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if _, err := command(ctx, dir, "go", "build", "-buildvcs=false", "-ldflags", "-X main.version="+commit[:12], "-o", target+".new", "./cmd/reroll"); err != nil {
		return err
	}
	return os.Rename(target+".new", target)
}

// command runs a program in a folder and returns what it printed, without white space around it.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &complaints
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// freezes reports whether a version knows of freezes.
func freezes(ctx context.Context, binary string) bool {
	_, err := command(ctx, "", binary, "freeze", "--help")
	return err == nil
}
