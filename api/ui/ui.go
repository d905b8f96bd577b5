// Package ui is the dashboard: a page, its script and its style, built from src into dist and embedded.
//
// It promises:
//   - Nothing is fetched from elsewhere, and the page may not: its Content-Security-Policy names this origin alone, without
//     inline scripts and styles.
//   - A file that a browser has already is not sent again, and none is shown out of date: every one is asked for by its ETag.
//   - It holds nothing but files. The page gets its data from the API, with the rights of its user.
//
// The build of Go needs no Node: dist is committed, and `make check-dashboard` fails if it is not what src makes.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

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

// File is one file, ready to be served. Make one with NewFile.
type File struct {
	mediaType, etag string
	plain, zipped   []byte
}

// NewFile returns a file of that name, whose end says what it is.
func NewFile(name string, content []byte) *File {
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // which never fails to write to memory
	_, _ = w.Write(content)
	_ = w.Close()
	return &File{mediaType: types[path.Ext(name)], etag: fmt.Sprintf(`"%x"`, sha256.Sum256(content)), plain: content, zipped: zipped.Bytes()}
}

// Mount serves the page at / and its files under /assets/.
func Mount(router chi.Router) {
	for name, f := range files() {
		pattern := "/assets/" + name
		if name == "index.html" {
			pattern = "/"
		}
		router.Get(pattern, f.ServeHTTP)
	}
}

// files returns the files of dist by name, zipped once. A fault here is one of the build, which no test lets pass.
var files = sync.OnceValue(func() map[string]*File {
	all := map[string]*File{}
	entries, err := dist.ReadDir("dist")
	for _, entry := range entries {
		content, failed := dist.ReadFile(path.Join("dist", entry.Name()))
		if failed != nil {
			err = failed
		}
		all[entry.Name()] = NewFile(entry.Name(), content)
	}
	if err != nil {
		panic(err)
	}
	return all
})

// ServeHTTP serves the file, zipped to those who can read that.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.etag)
	h.Set("Content-Type", f.mediaType)
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	r.Header.Del("Range") // of which body would depend on the encoding
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
