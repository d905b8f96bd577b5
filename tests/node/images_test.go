//go:build linux

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing/fstest"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// pauseImage has the program that waits: what holds the namespaces of each pod, and what the workloads of tests run.
	pauseImage = "reroll.test/pause:1"
	// rerollImage is that of the quick start's table for an image that was imported.
	rerollImage = "docker.io/library/reroll:dev"
	// readerImage, prometheusImage and nginxImage have programs that reload.
	readerImage     = "reroll.test/reader:1"
	prometheusImage = "reroll.test/prometheus:1"
	nginxImage      = "reroll.test/nginx:1"
)

// nobody is the user and the group of the Dockerfile.
const nobody = 65532

func pauseFile(dir string) string { return filepath.Join(dir, "pause") }

func prometheusFile(dir string) string { return filepath.Join(dir, "prometheus") }

// nginxProgram is where Debian's package has it.
const nginxProgram = "/usr/sbin/nginx"

// fetchNginx unpacks Debian's package below dir, without installing it: that would start the server on this machine.
func fetchNginx(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "sh", "-euc", "apt-get download -qq nginx || { apt-get update -qq; apt-get download -qq nginx; }; dpkg-deb --extract nginx_*.deb nginx-files")
	cmd.Dir = dir
	_, err := output(cmd)
	return err
}

// library is a line of ldd: a library that is there.
var library = regexp.MustCompile(`(?m)(/\S+) \(0x[0-9a-f]+\)$`)

// nginx returns the image of what fetchNginx has fetched, with the libraries of this machine that it needs.
func nginx(ctx context.Context, dir string) (image, error) {
	i := image{program: filepath.Join(dir, "nginx-files", nginxProgram), entrypoint: nginxProgram}
	needed, err := output(exec.CommandContext(ctx, "ldd", i.program))
	if err != nil {
		return i, err
	}
	for _, m := range library.FindAllStringSubmatch(needed, -1) {
		i.libraries = append(i.libraries, m[1])
	}
	return i, nil
}

// importImages gives containerd the images of tests: nothing is pulled.
func (n *node) importImages(ctx context.Context) error {
	binary, err := line.Build(ctx)
	if err != nil {
		return err
	}
	web, err := nginx(ctx, n.dir)
	if err != nil {
		return err
	}
	for name, i := range map[string]image{
		nginxImage:      web,
		prometheusImage: {program: prometheusFile(n.dir), entrypoint: "/prometheus"},
		readerImage:     {program: filepath.Join(n.dir, "reader"), entrypoint: "/reader"},
		pauseImage:      {program: pauseFile(n.dir), entrypoint: "/pause"},
		// As the Dockerfile has it.
		rerollImage: {program: binary, entrypoint: "/reroll", folder: "var/lib/reroll", user: fmt.Sprintf("%[1]d:%[1]d", nobody)},
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

// image is an image from scratch with one program, and with an empty folder of nobody's if one is named. Libraries are files of this machine.
type image struct {
	program, entrypoint, folder, user string
	libraries                         []string
}

// archive returns the image as `docker save` would write it.
func (i image) archive(name string) ([]byte, error) {
	files := fstest.MapFS{}
	if i.folder != "" {
		files[i.folder] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, Sys: &tar.Header{Uid: nobody, Gid: nobody}}
	}
	sources := map[string]string{i.entrypoint: i.program}
	for _, file := range i.libraries {
		sources[file] = file
	}
	for to, from := range sources {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		files[to[1:]] = &fstest.MapFile{Data: content, Mode: 0o755}
	}
	layer, err := pack(files)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"User": i.user, "Entrypoint": []string{i.entrypoint}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return nil, err
	}
	manifest := fmt.Sprintf(`[{"Config": "config.json", "RepoTags": [%q], "Layers": ["layer.tar"]}]`, name)
	return pack(fstest.MapFS{"layer.tar": {Data: layer}, "config.json": {Data: config}, "manifest.json": {Data: []byte(manifest)}})
}

// pack makes a tar.
func pack(files fs.FS) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := errors.Join(w.AddFS(files), w.Close())
	return b.Bytes(), err
}
