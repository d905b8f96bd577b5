package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// written is a config that somebody has written.
type written struct{ kind, namespace, name string }

// kindOf are the kinds of configs by the resource that audit events name.
var kindOf = map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}

// writes returns when each of the world's configs in an audit batch was last written, in microseconds. It follows from what an audit event is,
// and not from what ingest makes of one: a request that is complete, succeeded, and does more than read. Which of several events about a config
// stay, and how many hints they become, is up to Reroll, as long as the newest is not lost.
func writes(batch []byte) map[written]int64 {
	var events auditv1.EventList
	if json.Unmarshal(batch, &events) != nil {
		return nil // nothing else than Reroll has to read it
	}
	last := map[written]int64{}
	for _, e := range events.Items {
		if e.Stage != auditv1.StageResponseComplete || e.ObjectRef == nil || e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
			continue
		}
		c := written{kindOf[e.ObjectRef.Resource], e.ObjectRef.Namespace, e.ObjectRef.Name}
		reads := slices.Contains([]string{"get", "list", "watch"}, e.Verb)
		if reads || c.kind == "" || c.name == "" || !strings.HasPrefix(c.namespace, "chaos-") {
			continue
		}
		last[c] = max(last[c], e.StageTimestamp.UnixMicro())
	}
	return last
}

// powerCut takes the power from the disk while the writer writes. What was said to be stored before has to be there afterwards: as many
// hints as ingest has acknowledged, be they processed since or not, and each reload and change that the API has shown.
func powerCut(ctx context.Context, c *course) error {
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
	c.rig.proxy.mu.Lock()
	promised := c.rig.proxy.promised
	c.rig.proxy.mu.Unlock()
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
	if hints < promised {
		c.accuse(lost, "store", "at least %d hints were acknowledged, and %d were ever stored", promised, hints)
	}
	for id, about := range shown {
		if !known[id] {
			c.accuse(lost, "store", "%s about %s was shown", id, about)
		}
	}
	if promised == 0 || len(shown) == 0 {
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

// readStore returns of a store that nobody uses how many hints were ever stored, and the IDs of its changes and reloads.
func readStore(ctx context.Context, dir string) (hints uint64, ids map[string]bool, err error) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		return 0, nil, err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(natsTime) {
		return 0, nil, errors.New("the store could not be read in time")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return 0, nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, nil, err
	}
	ids = map[string]bool{}
	identified := func(data []byte) error {
		var record struct{ ID string }
		err := json.Unmarshal(data, &record)
		ids[record.ID] = true
		return err
	}
	stream, err := js.Stream(ctx, queue.HintsStream)
	if err != nil {
		return 0, nil, err
	}
	hints = stream.CachedInfo().State.LastSeq
	err = readStream(ctx, js, queue.HistoryStream, identified)
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
