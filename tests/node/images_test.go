//go:build linux

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// pauseImage has the program that waits: what holds the namespaces of each pod, and what the workloads of tests run.
	pauseImage = "reroll.test/pause:1"
	// rerollImage is that of the quick start's table for an image that was imported.
	rerollImage = "docker.io/library/reroll:dev"
)

// nobody is the user and the group of the Dockerfile.
const nobody = 65532

func pauseFile(dir string) string { return filepath.Join(dir, "pause") }

// importImages gives containerd the images of tests: nothing is pulled.
func (n *node) importImages(ctx context.Context) error {
	binary, err := line.Build(ctx)
	if err != nil {
		return err
	}
	for name, i := range map[string]image{
		pauseImage: {program: pauseFile(n.dir), entrypoint: "/pause"},
		// As the Dockerfile has it.
		rerollImage: {program: binary, entrypoint: "/reroll", folder: "var/lib/reroll/", user: fmt.Sprintf("%[1]d:%[1]d", nobody)},
	} {
		file := filepath.Join(n.dir, filepath.Base(i.program)+".tar")
		content, err := i.archive(name)
		if err != nil {
			return fmt.Errorf("make the image %s: %w", name, err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
		if _, err := n.ctr(ctx, "images", "import", file); err != nil {
			return err
		}
	}
	return nil
}

// image is an image from scratch with one program, and with an empty folder of nobody's if one is named.
type image struct {
	program, entrypoint, folder, user string
}

// layer returns the file system.
func (i image) layer() ([]byte, error) {
	content, err := os.ReadFile(i.program)
	if err != nil {
		return nil, err
	}
	entries := []entry{{&tar.Header{Name: i.entrypoint[1:], Mode: 0o755}, content}}
	if i.folder != "" {
		entries = append(entries, entry{&tar.Header{Name: i.folder, Typeflag: tar.TypeDir, Mode: 0o755, Uid: nobody, Gid: nobody}, nil})
	}
	return pack(entries)
}

// archive returns the image as `docker save` would write it.
func (i image) archive(name string) ([]byte, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"User": i.user, "Entrypoint": []string{i.entrypoint}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	return pack([]entry{
		{&tar.Header{Name: "layer.tar", Mode: 0o644}, layer},
		{&tar.Header{Name: "config.json", Mode: 0o644}, config},
		{&tar.Header{Name: "manifest.json", Mode: 0o644}, manifest},
	})
}

// entry is a file or a folder of a tar.
type entry struct {
	header  *tar.Header
	content []byte
}

func pack(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.header.Size = int64(len(e.content))
		if err := w.WriteHeader(e.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
