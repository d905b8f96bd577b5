package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// negotiate refuses a client that does not take the media type of the answer. Errors are problem documents whatever the client takes.
func negotiate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		media := "application/json"
		if r.URL.Path == "/api/v1/events" {
			media = eventStream
		}
		if !accepts(r.Header.Values("Accept"), media) {
			writeProblem(w, http.StatusNotAcceptable, "The header Accept leaves out "+media+".")
			return
		}
		r.Header.Del("Accept")
		next.ServeHTTP(w, r)
	})
}

// accepts reports whether a client takes a media type. What cannot be read is ignored, and without anything that can be read it takes all.
func accepts(accept []string, media string) bool {
	ranges := readAccept(accept)
	return len(ranges) == 0 || ranges.quality(media) > 0
}

// ranges has how much a client likes media ranges, from 0 to 1.
type ranges map[string]float64

func readAccept(values []string) ranges {
	found := ranges{}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil || !strings.Contains(media, "/") {
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		found[media] = max(found[media], q)
	}
	return found
}

// quality returns how much the client likes a media type: the most specific range decides.
func (r ranges) quality(media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	for _, pattern := range []string{media, kind + "/*", "*/*"} {
		if q, ok := r[pattern]; ok {
			return q
		}
	}
	return 0
}
