package compose_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/nats/servers"
)

// image is a file system from scratch, and what else an image says.
type image struct {
	// files are those of the host, by their place in the image.
	files map[string]string
	// changes are lines of a Dockerfile.
	changes []string
}

// natsVersion is that of the image in the Compose file.
const natsVersion = "2.12.15"

// makeImages makes the images of all services but those for looking on.
func (e *engine) makeImages(ctx context.Context, t *testing.T) {
	t.Helper()
	parts, err := kube.Parts(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	reroll, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	nats, err := servers.Path(ctx, natsVersion)
	if err != nil {
		t.Fatal(err)
	}
	inPath := func(part kube.Part) image {
		return image{
			files:   map[string]string{"usr/local/bin/" + string(part): parts.Path(part)},
			changes: []string{"ENV PATH=/usr/local/bin"},
		}
	}
	images := map[string]image{
		"etcd":                    inPath(kube.Etcd),
		"kube-apiserver":          inPath(kube.APIServer),
		"kube-controller-manager": inPath(kube.ControllerManager),
		"kubectl":                 {files: map[string]string{"bin/kubectl": parts.Path(kube.Kubectl)}, changes: []string{`ENTRYPOINT ["/bin/kubectl"]`}},
		"nats-1":                  {files: map[string]string{"nats-server": nats}, changes: []string{`ENTRYPOINT ["/nats-server"]`}},
		"ingest":                  {files: map[string]string{"reroll": reroll}, changes: []string{"USER 65532:65532", `ENTRYPOINT ["/reroll"]`}},
		"certificates":            {files: shellWithOpenSSL(t), changes: []string{"ENV PATH=/bin", `ENTRYPOINT ["/bin/openssl"]`}},
	}
	for service, i := range images {
		name := e.Services[service].Image
		if service == "nats-1" && !strings.HasSuffix(name, ":"+natsVersion) {
			t.Fatalf("the image is %s, and the program %s", name, natsVersion)
		}
		args := []string{"import"}
		for _, change := range i.changes {
			args = append(args, "--change", change)
		}
		e.feed(ctx, t, archive(t, i.files), append(args, "-", name)...)
	}
}

// library is a line of ldd with a file.
var library = regexp.MustCompile(`(/[^ ]+) \(0x`)

// shellWithOpenSSL is a shell, what the script of certificates calls, and the libraries of all: there is no static build of these here.
func shellWithOpenSSL(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, program := range map[string]string{"sh": "sh", "openssl": "openssl", "cat": "cat", "chown": "chown", "touch": "touch"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Fatalf("the image of the certificates cannot be made here: %v", err)
		}
		files["bin/"+name] = found
		out, err := exec.CommandContext(t.Context(), "ldd", found).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range library.FindAllStringSubmatch(string(out), -1) {
			files[strings.TrimPrefix(l[1], "/")] = l[1]
		}
	}
	// The settings of openssl req are in this file.
	if _, err := os.Stat("/usr/lib/ssl/openssl.cnf"); err == nil {
		files["usr/lib/ssl/openssl.cnf"] = "/usr/lib/ssl/openssl.cnf"
	}
	return files
}

// archive returns files as a tar, with a folder for what programs make up on the way.
func archive(t *testing.T, files map[string]string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h *tar.Header, content []byte) {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	add(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	for name, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(&tar.Header{Name: path.Clean(name), Mode: 0o755, Size: int64(len(content))}, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}
