// Command reader is a program that reloads: it serves the text that it has read, reads its files again when it is asked to, and refuses a bad one. It
// knows the version of its text by the annotation of its pod that the downward API writes next to it.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// files returns what the files say now.
func files() string {
	text, _ := os.ReadFile("/etc/reader/text")
	version, _ := os.ReadFile("/etc/reader/version") // there is none at first
	return fmt.Sprintf("%s at version %s\n", text, version)
}

func main() {
	var loaded atomic.Value
	loaded.Store(files())
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, loaded.Load()) })
	http.HandleFunc("GET /files", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, files()) })
	http.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		text := files()
		if strings.Contains(text, "bad") {
			http.Error(w, "this is bad", http.StatusInternalServerError)
			return
		}
		loaded.Store(text)
	})
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}
