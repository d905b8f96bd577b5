package api

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// offers are the media types of the routes that answer with anything but JSON alone, the standard first.
var offers = map[string][]string{
	"/api/v1/events": {eventStream},
	"/api/v1/graph":  {"application/json", graphType},
}

type mediaKey struct{}

// mediaOf returns the media type that the client would rather have.
func mediaOf(ctx context.Context) string {
	media, _ := ctx.Value(mediaKey{}).(string)
	return media
}

// negotiate picks the media type of the answer, and refuses a client that takes none of those that there are. Errors are problem
// documents whatever the client takes.
func negotiate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered, ok := offers[r.URL.Path]
		if !ok {
			offered = []string{"application/json"}
		}
		media := pick(r.Header.Values("Accept"), offered)
		if media == "" {
			writeProblem(w, http.StatusNotAcceptable, "The header Accept leaves out everything that there is: "+strings.Join(offered, ", ")+".")
			return
		}
		r.Header.Del("Accept")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), mediaKey{}, media)))
	})
}

// pick returns the offer that the client likes best, the first of several; empty if it takes none. What cannot be read is ignored, and
// without anything that can be read the client takes all.
func pick(accept, offered []string) string {
	ranges := readAccept(accept)
	if len(ranges) == 0 {
		return offered[0]
	}
	best, liking := "", 0.0
	for _, media := range offered {
		if q := ranges.quality(media); q > liking {
			best, liking = media, q
		}
	}
	return best
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
