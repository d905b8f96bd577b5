package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// skip allows a test, and those within it, to be skipped as long as something is missing.
type skip struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
	// Without is what must be missing: "mounts", "program NAME", or "environment NAME".
	Without string `json:"without"`
	// RunBy is the make target, run by a workflow, in which the test is not skipped.
	RunBy string `json:"runBy"`
}

// allows reports whether a test may be skipped here.
func (s skip) allows(test string) bool {
	return (test == s.Test || strings.HasPrefix(test, s.Test+"/")) && s.missing()
}

// missing reports whether that is missing without which the test is skipped.
func (s skip) missing() bool {
	kind, what, _ := strings.Cut(s.Without, " ")
	switch kind {
	case "mounts":
		return !mounts()
	case "program":
		_, err := exec.LookPath(what)
		return err != nil
	case "environment":
		return os.Getenv(what) == ""
	}
	return false
}

// check returns what is wrong with an entry.
func (s skip) check() error {
	kind, what, _ := strings.Cut(s.Without, " ")
	known := kind == "mounts" && what == "" || (kind == "program" || kind == "environment") && what != ""
	if s.Test == "" || s.Reason == "" || s.RunBy == "" || !known {
		return errors.New("needs test, reason, runBy, and without: mounts, program NAME or environment NAME")
	}
	return nil
}

func readSkips(file string) ([]skip, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct {
		Skips []skip `json:"skips"`
	}
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range list.Skips {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: %q %w", file, s.Test, err)
		}
	}
	return list.Skips, nil
}

// mounts reports whether this process can mount a file that holds a file system, which takes root and a loop device.
var mounts = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "reroll-verdict-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder may stay
	image, folder := filepath.Join(dir, "image"), filepath.Join(dir, "folder")
	if os.WriteFile(image, nil, 0o600) != nil || os.Truncate(image, 4<<20) != nil || os.Mkdir(folder, 0o700) != nil {
		return false
	}
	if exec.Command("mkfs.ext4", "-q", "-F", image).Run() != nil || exec.Command("mount", "-t", "ext4", "-o", "loop", image, folder).Run() != nil {
		return false
	}
	return exec.Command("umount", folder).Run() == nil
})
