// Package ui is the dashboard: a page, its script and its style, built from src into dist and embedded.
//
// It promises:
//   - Nothing is fetched from elsewhere, and the page may not: its Content-Security-Policy names this origin alone, without
//     inline scripts and styles.
//   - A file that a browser has already is not sent again, and none is shown out of date: every one is asked for by its ETag.
//   - It holds nothing but files. What the page shows it asks of the API, as whoever opened it.
//
// The build of Go needs no Node: dist is committed, and `make check-dashboard` fails if it is not what src makes.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
)

//go:embed dist
var dist embed.FS

// Policy is the Content-Security-Policy of the page and its files.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are the media types of the files that dist may have. They are not asked of the system, whose table may be another one.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// file is one file of dist, ready to be sent.
type file struct {
	mediaType, etag string
	plain, zipped   []byte
}

// Mount serves the page at / and its files under /assets/.
func Mount(router chi.Router) {
	for name, f := range files() {
		pattern := "/assets/" + name
		if name == "index.html" {
			pattern = "/"
		}
		router.Get(pattern, f.serve)
	}
}

// files returns the files of dist by name, zipped once. A fault here is one of the build, which no test lets pass.
var files = sync.OnceValue(func() map[string]*file {
	all := map[string]*file{}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		content, err := dist.ReadFile(path.Join("dist", entry.Name()))
		if err != nil {
			panic(err)
		}
		all[entry.Name()] = newFile(entry.Name(), content)
	}
	return all
})

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	return &file{mediaType: types[path.Ext(name)], etag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: content, zipped: zip(content)}
}

// zip never fails: it writes to memory.
func zip(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.etag)
	h.Set("Content-Type", f.mediaType)
	if matches(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone is no fault of ours
}

// matches reports whether a list of entity tags has etag, weakly compared: a proxy may have made it weak.
func matches(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding names gzip and does not forbid it.
func acceptsGzip(accept string) bool {
	for coding := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			quality, found := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
			weight, err := strconv.ParseFloat(quality, 64)
			return !found || err == nil && weight > 0
		}
	}
	return false
}
