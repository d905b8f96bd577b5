package hub

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// The account of a cluster imports the subjects of the hub under these names: with the same names, what it stores in a JetStream of its own would
// be stored at the hub as well.
const (
	prefix         = "hub."
	directPrefix   = prefix + "get."
	deliverSubject = prefix + "deliver"
)

// commitTime bounds the storing of a batch. A busy hub may take long, and after a timeout the batch may still be stored.
const commitTime = 20 * time.Second

// natsHub is a hub as the account of one cluster sees it.
type natsHub struct {
	*queue.Conn
	cluster string
}

func (h *natsHub) subject(stream string) string {
	return queue.PositionPrefix + "." + h.cluster + "." + stream
}

// position returns how far a stream is, and the revision of that; both are zero if the hub has nothing.
func (h *natsHub) position(ctx context.Context, stream string) (p reloader.Position, revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	m, err := h.NATS.RequestWithContext(ctx, directPrefix+stream+"."+h.subject(stream), nil)
	if err != nil {
		return p, 0, fmt.Errorf("ask the hub for the position of %s: %w", stream, err)
	}
	switch m.Header.Get("Status") {
	case "":
	case "404":
		return p, 0, nil
	default:
		return p, 0, fmt.Errorf("ask the hub for the position of %s: %s", stream, m.Header.Get("Description"))
	}
	if revision, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return p, 0, fmt.Errorf("the hub gives the position of %s without its sequence", stream)
	}
	p, err = reloader.Decode[reloader.Position](m.Data)
	return p, revision, err
}

// append stores records and p, if the position of the stream still has that revision, and returns the new one. Otherwise it stores nothing.
func (h *natsHub) append(ctx context.Context, records []queue.Stored, p reloader.Position, revision uint64) (uint64, error) {
	at, err := queue.MessageOf(prefix+h.subject(p.Of), p)
	if err != nil {
		return 0, err
	}
	at.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(revision, 10))
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	messages := make([]*nats.Msg, 0, len(records)+1)
	for _, r := range records {
		messages = append(messages, copyOf(r))
	}
	ack, err := jetstreamext.PublishMsgBatch(ctx, h.JS, append(messages, at))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// copyOf returns a stored record for the hub. Headers with which a server was instructed stay behind: all members share the deduplication of the hub.
func copyOf(r queue.Stored) *nats.Msg {
	m := queue.NewMessage(prefix+r.Subject, r.Data)
	for key, values := range r.Header {
		if !strings.HasPrefix(key, "Nats-") {
			m.Header[key] = values
		}
	}
	if len(r.Data) == 0 { // the end of a record
		m.Header.Set(jetstream.MsgTTLHeader, queue.EndTime.String())
	}
	return m
}
