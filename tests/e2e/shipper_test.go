//go:build nightly

package e2e

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shipBatch is how many lines a shipper posts at once, unless there are fewer.
const shipBatch = 40

// shipper reads an API server's audit log, rotated files included, and posts it to ingest as log shippers do: in other forms from one batch to the
// next, and every second batch twice, as who has not seen the answer does.
type shipper struct {
	*room
	log string
	// shipped is how many lines were posted, batches in how many batches.
	shipped, batches int
}

// lines returns the complete lines of the log, oldest first. The API server names rotated files after the time, before the suffix.
func (s *shipper) lines() []string {
	s.t.Helper()
	files, err := filepath.Glob(strings.TrimSuffix(s.log, ".log") + "*.log")
	s.must(err)
	slices.Sort(files)
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		s.must(err)
		for line := range strings.Lines(string(content)) {
			if strings.HasSuffix(line, "\n") {
				found = append(found, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return found
}

// ship posts what was logged since it was last called.
func (s *shipper) ship() {
	s.t.Helper()
	s.shipUpTo(len(s.lines()))
}

// shipUpTo posts the lines up to the nth, but for those that were posted before.
func (s *shipper) shipUpTo(n int) {
	s.t.Helper()
	for batch := range slices.Chunk(s.lines()[s.shipped:n], shipBatch) {
		s.shipped += len(batch)
		s.batches++
		for range 1 + s.batches%2 {
			s.post(batch)
		}
	}
}

// again posts the whole log once more.
func (s *shipper) again() {
	s.t.Helper()
	s.shipped = 0
	s.ship()
}

func (s *shipper) post(batch []string) {
	s.t.Helper()
	body, contentType, contentEncoding := []byte("["+strings.Join(batch, ",")+"]"), "application/json", ""
	if s.batches%4 < 2 {
		body, contentType = []byte(strings.Join(batch, "\n")+"\n"), "application/x-ndjson"
	}
	if s.batches%3 > 0 {
		body, contentEncoding = zipped(body), "gzip"
	}
	code, err := s.line.Ship(s.ctx, contentType, contentEncoding, body)
	s.must(err)
	if code != http.StatusNoContent {
		s.t.Fatalf("%d lines as %s are answered with %d", len(batch), contentType, code)
	}
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
