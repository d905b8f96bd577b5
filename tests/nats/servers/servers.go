// Package servers builds a NATS server of another version, from a module of its own in the folder of its version. The executables
// are in the go command's build cache, outside the repository; the second use builds nothing.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const server = "github.com/nats-io/nats-server/v2"

// Path returns the executable of a version, and builds it when the cache lacks it.
func Path(ctx context.Context, version string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", server)
	cmd.Dir = filepath.Join(dir, version)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("build NATS server %s: %w: %s", version, err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("build NATS server %s: %w", version, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func folder() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the source folder of the NATS servers is unknown")
	}
	return filepath.Dir(file), nil
}
