package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// disk is where the embedded NATS has its files: a folder, or an ext4 of its own in an image, which can lose its power.
type disk struct {
	own           bool
	folder, image string
}

// diskSize is that of a file system.
const diskSize = 96 << 20

// errNoMount says that this test cannot be run here.
var errNoMount = errors.New("file systems cannot be mounted here")

// store is the folder for Reroll.
func (d disk) store() string { return filepath.Join(d.folder, "store") }

// mount makes the file system, if it is not there yet, and mounts it. It fails with errNoMount where that is not permitted.
func (d disk) mount(ctx context.Context) error {
	if err := os.MkdirAll(d.folder, 0o700); err != nil || !d.own {
		return err
	}
	if _, err := os.Stat(d.image); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(d.image, nil, 0o600); err != nil {
			return err
		}
		if err := errors.Join(os.Truncate(d.image, diskSize), command(ctx, "mkfs.ext4", "-q", "-F", d.image)); err != nil {
			return err
		}
	}
	return command(ctx, "mount", "-t", "ext4", "-o", "loop", d.image, d.folder)
}

// unmount takes the file system away once no process uses it, and writes what was not written yet.
func (d disk) unmount(ctx context.Context) error {
	if !d.own || exec.Command("mountpoint", "-q", d.folder).Run() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, orderlyTime)
	defer cancel()
	err := command(ctx, "umount", d.folder)
	for err != nil && ctx.Err() == nil {
		pause(ctx, tryPause)
		err = command(ctx, "umount", d.folder)
	}
	return err
}

func command(ctx context.Context, name string, args ...string) error {
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s: %w: %s", errNoMount, name, err, output)
	}
	return nil
}

// hints returns how many configs of the world an audit batch says that somebody has written, each of which is at least one hint. It follows from what an
// audit event is, and not from what ingest makes of one: a request that is complete, succeeded, and does more than read.
func hints(batch []byte) uint64 {
	var events auditv1.EventList
	if json.Unmarshal(batch, &events) != nil {
		return 0 // nothing else than Reroll has to read it
	}
	written := map[auditv1.ObjectReference]bool{}
	for _, e := range events.Items {
		o := e.ObjectRef
		if o == nil || e.Stage != auditv1.StageResponseComplete || e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
			continue
		}
		if slices.Contains([]string{"configmaps", "secrets"}, o.Resource) && o.Name != "" && strings.HasPrefix(o.Namespace, "chaos-") {
			written[auditv1.ObjectReference{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}] = true
		}
	}
	return uint64(len(written))
}

// powerCut takes the power from the disk while the writer writes: what the kernel still had in its memory is lost. What was said to be stored before
// has to be there afterwards: as many hints as ingest has acknowledged, be they processed since or not, and each reload that the API has shown.
func powerCut(ctx context.Context, c *course) error {
	return c.whileWriting(ctx, func(ctx context.Context) error {
		pause(ctx, c.options.Time/2)
		if err := c.cutPower(ctx); err != nil {
			return err
		}
		pause(ctx, c.options.Time/2)
		return nil
	})
}

func (c *course) cutPower(ctx context.Context) error {
	serve, disk := c.rig.programs[0], c.rig.data
	shown, err := c.shown(ctx)
	if err != nil {
		return err
	}
	if err := serve.freeze(); err != nil {
		return err
	}
	promised := c.rig.proxy.promised.Load()
	if promised == 0 || len(shown) == 0 {
		return errors.New("there was nothing to lose before the power cut")
	}
	if err := command(ctx, "cp", "--sparse=always", disk.image, disk.image+".cut"); err != nil {
		return err
	}
	release := serve.hold()
	err = errors.Join(disk.unmount(ctx), os.Rename(disk.image+".cut", disk.image), disk.mount(ctx))
	if err != nil {
		release()
		return err
	}
	stored, err := storedHints(ctx, disk.store())
	release()
	if err != nil {
		return err
	}
	if stored < promised {
		c.found = append(c.found, fault{lost, "store", fmt.Sprintf("at least %d hints were acknowledged, and %d were ever stored", promised, stored)})
	}
	if err := c.rig.waitReady(ctx); err != nil {
		return fmt.Errorf("after the power cut: %w", err)
	}
	still, err := c.shown(ctx)
	for id := range shown {
		if !still[id] {
			c.found = append(c.found, fault{lost, "store", fmt.Sprintf("reload %s was shown", id)})
		}
	}
	return err
}

// shown are the IDs of the reloads that the API shows.
func (c *course) shown(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	for _, namespace := range namespaces {
		reloads, err := (&line.Reroll{API: c.rig.api}).Reloads(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range reloads {
			found[r.ID] = true
		}
	}
	return found, nil
}

// storedHints returns how many hints were ever stored in a store that no process uses.
func storedHints(ctx context.Context, dir string) (uint64, error) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		return 0, err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(natsTime) {
		return 0, errors.New("the store could not be read in time")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, queue.HintsStream)
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.LastSeq, nil
}
