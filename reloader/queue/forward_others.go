package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// subjectsOfOneCluster is how many subjects there are about one cluster in the stream of clusters: its UID and its status.
const subjectsOfOneCluster = 2

// lookForOthers reports whether this cluster alone stores in the stream, and up to where there are records under other names. In a NATS of our
// own those are names that the cluster had before. In any other they may be those of clusters which share it, and only who knows one name is alone.
func (s *forwardStream) lookForOthers(ctx context.Context) (alone bool, upTo uint64, err error) {
	clusters, err := s.f.q.js.Stream(ctx, clustersStream)
	if err != nil {
		return false, 0, fmt.Errorf("look at %s: %w", clustersStream, explain(ctx, err))
	}
	if s.f.q.embedded == nil {
		return clusters.CachedInfo().State.NumSubjects <= subjectsOfOneCluster, 0, nil
	}
	all, err := clusters.Info(ctx, jetstream.WithSubjectFilter(clusterPrefix+".>"))
	if err != nil {
		return false, 0, fmt.Errorf("look at the names in %s: %w", clustersStream, explain(ctx, err))
	}
	names := map[string]struct{}{}
	for subject := range all.State.Subjects {
		name, _, _ := strings.Cut(strings.TrimPrefix(subject, clusterPrefix+"."), ".")
		names[name] = struct{}{}
	}
	delete(names, escape(s.f.Cluster))
	for name := range names {
		last, err := s.f.q.lastMatching(ctx, s.name, s.prefix+"."+name+".>")
		if err != nil {
			return false, 0, fmt.Errorf("look for records under the name %.80q: %w", name, explain(ctx, err))
		}
		upTo = max(upTo, last)
	}
	return true, upTo, nil
}

// codeNoMessage is that of the server's answer if there is none.
const codeNoMessage = jetstream.JSErrCodeMessageNotFound

// lastMatching returns the sequence of the last message of a stream whose subject matches a filter; 0 if there is none. It needs a permission
// that no role has, so it is for a server of our own.
func (q *Queue) lastMatching(ctx context.Context, stream, filter string) (uint64, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": filter})
	if err != nil {
		return 0, err
	}
	m, err := q.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Sequence uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return 0, fmt.Errorf("the answer cannot be understood: %w", err)
	}
	if answer.Error != nil && answer.Error.ErrorCode != codeNoMessage {
		return 0, answer.Error
	}
	return answer.Message.Sequence, nil
}
