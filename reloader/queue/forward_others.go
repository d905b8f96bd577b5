package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// subjectsOfOneCluster is how many subjects there are about one cluster in the stream of clusters: its UID and its status.
const subjectsOfOneCluster = 2

// lookForOthers reports whether this cluster alone stores in the stream, and up to where there are records under names that it had before. In a NATS
// of our own every other name is such a one. In any other those with our UID are; who may not look there, or finds another cluster, is not alone.
func (s *forwardStream) lookForOthers(ctx context.Context) (alone bool, upTo uint64, err error) {
	clusters, err := s.f.q.js.Stream(ctx, clustersStream)
	if err != nil {
		return false, 0, fmt.Errorf("look at %s: %w", clustersStream, explain(ctx, err))
	}
	own := s.f.q.embedded != nil
	if !own && clusters.CachedInfo().State.NumSubjects <= subjectsOfOneCluster {
		return true, 0, nil
	}
	if !own && s.f.mayNotLook.Load() {
		return false, 0, nil
	}
	names, err := s.f.otherNames(ctx, clusters)
	for _, name := range names {
		if alone = own; !own {
			alone, err = s.f.wasOurs(ctx, clusters, name)
		}
		if !alone || err != nil {
			return false, 0, s.f.unlessDenied(err)
		}
		last, err := s.f.q.lastMatching(ctx, s.name, s.prefix+"."+name+".>")
		if err != nil {
			return false, 0, s.f.unlessDenied(fmt.Errorf("look for records under the name %.80q: %w", name, err))
		}
		upTo = max(upTo, last)
	}
	return err == nil, upTo, err
}

// leaveToOthers looks again who stores in the stream, and takes for theirs what is missing before the last of their records.
func (s *forwardStream) leaveToOthers(ctx context.Context) (err error) {
	ctx, release := s.f.q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	if s.alone, s.others, err = s.lookForOthers(ctx); err != nil {
		return err
	}
	holes := s.holes
	s.holes = nil
	for _, hole := range holes {
		if s.alone {
			s.holes = appendHole(s.holes, hole, max(hole.After, s.others), hole.After+hole.Records)
		}
	}
	return nil
}

// otherNames returns the names of which there is something in the stream of clusters, but for that of this one, as they are in subjects.
func (f *Forwarder) otherNames(ctx context.Context, clusters jetstream.Stream) ([]string, error) {
	all, err := clusters.Info(ctx, jetstream.WithSubjectFilter(clusterPrefix+".>"))
	if err != nil {
		return nil, fmt.Errorf("look at the names in %s: %w", clustersStream, explain(ctx, err))
	}
	names := map[string]struct{}{}
	for subject := range all.State.Subjects {
		name, _, _ := strings.Cut(strings.TrimPrefix(subject, clusterPrefix+"."), ".")
		names[name] = struct{}{}
	}
	delete(names, escape(f.Cluster))
	return slices.Collect(maps.Keys(names)), nil
}

// wasOurs reports whether a name is bound to the UID of this cluster.
func (f *Forwarder) wasOurs(ctx context.Context, clusters jetstream.Stream, name string) (bool, error) {
	ctx, release := f.q.bounded(ctx, answerTime, "$JS.API.DIRECT.GET."+clustersStream, "$JS.API.STREAM.MSG.GET."+clustersStream)
	defer release()
	bound, err := lastOf(ctx, clusters, clusterPrefix+"."+name)
	if err != nil {
		return false, fmt.Errorf("see whether this cluster was called %.80q: %w", name, explain(ctx, err))
	}
	return string(bound.Data) == f.UID, nil
}

// unlessDenied returns err unless it is a refusal, of which it takes note: the server logs each, and so do we.
func (f *Forwarder) unlessDenied(err error) error {
	if !errors.Is(err, ErrDenied) {
		return err
	}
	f.mayNotLook.Store(true)
	f.Logger.Info("gaps cannot be told: NATS does not permit to look at the other names in it", "error", err)
	return nil
}

// codeNoMessage is that of the server's answer if there is none.
const codeNoMessage = jetstream.JSErrCodeMessageNotFound

// lastMatching returns the sequence of the last message of a stream whose subject matches a filter; 0 if there is none. It needs a permission
// that no role has: a server of our own gives it, and one that knows no roles.
func (q *Queue) lastMatching(ctx context.Context, stream, filter string) (uint64, error) {
	subject := "$JS.API.STREAM.MSG.GET." + stream
	ctx, release := q.bounded(ctx, answerTime, subject)
	defer release()
	request, err := json.Marshal(map[string]string{"last_by_subj": filter})
	if err != nil {
		return 0, err
	}
	m, err := q.nc.RequestWithContext(ctx, subject, request)
	if err != nil {
		return 0, explain(ctx, err)
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
