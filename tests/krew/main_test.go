package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const license = "../../LICENSE"

// release returns a folder with what make release leaves: binaries, lists of their parts, and checksums.
func release(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"reroll-darwin-arm64", "reroll-linux-amd64", "reroll-linux-arm64", "reroll-windows-amd64.exe", "reroll-linux-amd64.cdx.json", partsName, "sha256sums.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("this is "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestManifest: it has what krew documents and wants, and nothing else; what it names is there, as it says, with the licence.
func TestManifest(t *testing.T) {
	dir := release(t)
	if err := run("1.2.3", dir, license); err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(read(t, dir, manifestName), &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name+".yaml" != manifestName {
		t.Errorf("it is no manifest of a plugin of that name: %+v", m)
	}
	if s := m.Spec; s.Version != "v1.2.3" || s.ShortDescription == "" || len(s.ShortDescription) > 50 || strings.ContainsAny(s.ShortDescription, "\r\n") || s.Description == "" {
		t.Errorf("its description does not fit: %+v", s)
	}
	var systems []string
	for _, p := range m.Spec.Platforms {
		systems = append(systems, p.Selector.MatchLabels["os"]+"/"+p.Selector.MatchLabels["arch"])
		if keys := slices.Sorted(maps.Keys(p.Selector.MatchLabels)); !slices.Equal(keys, []string{"arch", "os"}) {
			t.Errorf("it selects by %v", keys)
		}
		expectArchive(t, dir, p)
	}
	if diff := cmp.Diff([]string{"darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64"}, systems); diff != "" {
		t.Errorf("systems (-want +got):\n%s", diff)
	}
}

func expectArchive(t *testing.T, dir string, p platform) {
	t.Helper()
	name := path.Base(p.URI)
	content := read(t, dir, name)
	if sum := sha256.Sum256(content); p.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%s has another sum than %s", name, p.SHA256)
	}
	if want := "https://github.com/reroll-dev/reroll/releases/download/v1.2.3/" + name; p.URI != want {
		t.Errorf("it is at %s, not %s", p.URI, want)
	}
	files := map[string]string{}
	zip, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = fs.FileMode(header.Mode).String() + " " + string(text)
	}
	system, exe := p.Selector.MatchLabels["os"], strings.TrimPrefix(p.Bin, binaryName)
	if want := map[string]string{"windows": ".exe"}[system]; exe != want {
		t.Errorf("on %s it is called %s", system, p.Bin)
	}
	want := map[string]string{
		p.Bin:     "-rwxr-xr-x this is reroll-" + system + "-" + p.Selector.MatchLabels["arch"] + exe,
		"LICENSE": "-rw-r--r-- " + string(read(t, "../..", "LICENSE")), partsName: "-rw-r--r-- this is " + partsName,
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	for _, f := range p.Files {
		if _, there := files[f.From]; !there || f.To != "." {
			t.Errorf("%s has no %s that goes to the top", name, f.From)
		}
	}
	if len(p.Files) != len(files) {
		t.Errorf("of %d files %d are taken out", len(files), len(p.Files))
	}
}

// TestTwiceTheSame: neither the time nor the folder is in it.
func TestTwiceTheSame(t *testing.T) {
	var texts [][]byte
	for range 2 {
		dir := release(t)
		if err := run("1.2.3", dir, license); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, read(t, dir, manifestName))
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Errorf("two manifests differ:\n%s\n%s", texts[0], texts[1])
	}
}

// TestWhatCannotBePacked is told, and leaves no manifest.
func TestWhatCannotBePacked(t *testing.T) {
	bare := release(t)
	if err := os.Remove(filepath.Join(bare, partsName)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ version, dir, license, want string }{
		"no version":  {"v1", release(t), license, `"v1" is no version`},
		"no binaries": {"1.2.3", t.TempDir(), license, "no binary"},
		"no licence":  {"1.2.3", release(t), filepath.Join(t.TempDir(), "LICENSE"), "LICENSE"},
		"no licences": {"1.2.3", bare, license, partsName},
	} {
		err := run(c.version, c.dir, c.license)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(c.dir, manifestName)); err == nil {
			t.Errorf("%s: there is a manifest", name)
		}
	}
}
