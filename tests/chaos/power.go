package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// touch is an event about a config, as the audit event and the hint made of it both tell it.
type touch struct {
	namespace, name string
	// at is in microseconds.
	at int64
}

// touches are the writes of the world's configs in an audit batch that succeeded. Of those that say the same of a config, the last stands
// for all, as it does in the hint that ingest makes of them.
func touches(batch []byte) []touch {
	var events auditv1.EventList
	if json.Unmarshal(batch, &events) != nil {
		return nil // nothing else than Reroll has to read it
	}
	last := map[string]touch{}
	for _, e := range events.Items {
		if e.ObjectRef == nil || !strings.HasPrefix(e.ObjectRef.Namespace, "chaos-") || e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
			continue
		}
		writes := e.Verb == "update" || e.Verb == "create" || e.Verb == "delete"
		isConfig := e.ObjectRef.Resource == "configmaps" || e.ObjectRef.Resource == "secrets"
		if writes && isConfig && e.Stage == auditv1.StageResponseComplete && e.ObjectRef.Name != "" {
			what := fmt.Sprint(e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, "/", e.ObjectRef.Name, " ", e.User.Username, e.UserAgent, e.SourceIPs)
			last[what] = touch{e.ObjectRef.Namespace, e.ObjectRef.Name, e.StageTimestamp.UnixMicro()}
		}
	}
	return slices.Collect(maps.Values(last))
}

// remember has the proxy take down what is acknowledged from now on.
func (p *proxy) remember() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acknowledged = map[touch]struct{}{}
}

// promised are the events that were acknowledged.
func (p *proxy) promised() []touch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []touch
	for t := range p.acknowledged {
		found = append(found, t)
	}
	return found
}

// powerCut takes the power from the disk while the writer writes. What was said to be stored before has to be there afterwards: each
// hint that ingest has acknowledged, and each reload and change that the API has shown.
func powerCut(ctx context.Context, c *course) error {
	c.rig.proxy.remember()
	return c.whileWriting(ctx, func(ctx context.Context) error {
		pause(ctx, c.options.Time/2)
		if err := c.cutPower(ctx); err != nil {
			return err
		}
		if err := c.rig.waitReady(ctx); err != nil {
			return fmt.Errorf("after the power cut: %w", err)
		}
		pause(ctx, c.options.Time/2)
		return nil
	})
}

func (c *course) cutPower(ctx context.Context) error {
	shown, err := c.shown(ctx)
	if err != nil {
		return err
	}
	if err := c.serve().freeze(); err != nil {
		return err
	}
	promised := c.rig.proxy.promised()
	snapshot, err := c.rig.data.snapshot(ctx)
	if err != nil {
		return err
	}
	release := c.serve().hold()
	defer release()
	if err := c.rig.data.powerCut(ctx, snapshot); err != nil {
		return err
	}
	hints, known, err := readStore(ctx, c.rig.data.store())
	if err != nil {
		return err
	}
	for _, t := range promised {
		if !hints[t] {
			c.accuse(lost, "store", "the hint about %s/%s at %s was acknowledged", t.namespace, t.name, time.UnixMicro(t.at).UTC())
		}
	}
	for id, about := range shown {
		if !known[id] {
			c.accuse(lost, "store", "%s about %s was shown", id, about)
		}
	}
	if len(promised) == 0 || len(shown) == 0 {
		return errors.New("there was nothing to lose before the power cut")
	}
	return nil
}

// shown are the reloads that the API has shown, and the changes behind them, each with what it is about.
func (c *course) shown(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for _, namespace := range namespaces {
		reloads, err := (&line.Reroll{API: c.rig.api}).Reloads(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range reloads {
			found[r.ID] = r.Workload.Kind + "/" + namespace + "/" + r.Workload.Name
			for _, cause := range r.Causes {
				found[cause.ChangeID] = cause.Config.Kind + "/" + namespace + "/" + cause.Config.Name
			}
		}
	}
	return found, nil
}

// readStore returns the hints in a store that nobody uses, and the IDs of its changes and reloads.
func readStore(ctx context.Context, dir string) (hints map[touch]bool, ids map[string]bool, err error) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		return nil, nil, err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(natsTime) {
		return nil, nil, errors.New("the store could not be read in time")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, nil, err
	}
	hints, ids = map[touch]bool{}, map[string]bool{}
	identified := func(data []byte) error {
		var record struct{ ID string }
		err := json.Unmarshal(data, &record)
		ids[record.ID] = true
		return err
	}
	err = errors.Join(
		readStream(ctx, js, "HINTS", func(data []byte) error {
			var h struct {
				Config struct{ Namespace, Name string }
				Time   time.Time
			}
			err := json.Unmarshal(data, &h)
			hints[touch{h.Config.Namespace, h.Config.Name, h.Time.UnixMicro()}] = true
			return err
		}),
		readStream(ctx, js, "CHANGES", identified), readStream(ctx, js, "RELOADS", identified))
	return hints, ids, err
}

// readStream gives every message of a stream to take. A stream that is not there has none.
func readStream(ctx context.Context, js jetstream.JetStream, name string, take func([]byte) error) error {
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq && seq > 0; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := take(m.Data); err != nil {
			return err
		}
	}
	return nil
}
