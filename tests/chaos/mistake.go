package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// trial is a run in which nothing goes wrong unless Reroll has one of the mistakes. What would heal them is left out.
type trial struct {
	name string
	// set makes the run of a short one.
	set func(*options)
	// edits give time to what would hardly happen in so short a run. They are in every Reroll of the trial, and are no mistake.
	edits    []edit
	mistakes []mistake
}

// mistake is a fault that is put into a copy of Reroll, which the suite has to catch. The sources stay as they are: the compiler is
// given other files in their place.
type mistake struct {
	name string
	// breaks is the promise that does not hold with it.
	breaks string
	// finds is what the oracle has to report, and by is how that shows.
	finds, by string
	// healed says what else keeps the promise, if anything does: edits, or the trial, switch that off too.
	healed string
	edits  []edit
}

// edit replaces a text, which must be there exactly once, in a file of the module. Without a text it adds a file that is not there.
type edit struct{ file, from, to string }

// with returns m with the edits of the trial.
func (tr trial) with(m mistake) mistake {
	m.edits = slices.Concat(tr.edits, m.edits)
	return m
}

// build compiles Reroll with the mistake in it to a file in dir, and returns that file.
func (m mistake) build(ctx context.Context, dir string) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	files, err := m.sources(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, content := range files {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "reroll")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", binary, "./cmd/reroll")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with a mistake: %w: %s", err, output)
	}
	return binary, nil
}

// sources are the files of the module that the mistake changes, as they are with it.
func (m mistake) sources(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		if e.from == "" {
			if _, err := os.Stat(filepath.Join(root, e.file)); !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s is there already: %w", e.file, err)
			}
			files[e.file] = e.to
			continue
		}
		if _, read := files[e.file]; !read {
			content, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			files[e.file] = string(content)
		}
		if n := strings.Count(files[e.file], e.from); n != 1 {
			return nil, fmt.Errorf("%s: %q is there %d times, not once", e.file, e.from, n)
		}
		files[e.file] = strings.Replace(files[e.file], e.from, e.to, 1)
	}
	return files, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}
