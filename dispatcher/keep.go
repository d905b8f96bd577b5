package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// keeper writes what the board says into the ledger and the history, and retries forever.
type keeper struct {
	*common
	*memory
}

// keepStates writes the ledger of a namespace. It waits while a crowd is rolled: each write has all entries of the namespace.
func (d *keeper) keepStates(ctx context.Context, namespace string) (time.Duration, error) {
	if d.workers.crowded() {
		return ledgerDelay, nil
	}
	entries := d.lock().states.take(namespace)
	d.unlock()
	if len(entries) == 0 {
		return 0, nil
	}
	err := d.Ledger.Put(ctx, namespace, entries)
	b := d.lock()
	delete(b.states.writing, namespace)
	if err == nil {
		d.unlock()
		return 0, nil
	}
	for ref := range entries {
		put(b.states.changed, namespace, ref, struct{}{})
	}
	d.unlock()
	_ = d.readLedger(ctx, namespace)
	return 0, fmt.Errorf("write the ledger of %s: %w", namespace, err)
}

// readLedger takes what another process has written into the ledger of a namespace since it was read last.
func (d *keeper) readLedger(ctx context.Context, namespace string) error {
	entries, changed, err := d.Ledger.Changed(ctx, namespace)
	if err != nil || !changed {
		return err
	}
	d.lock().merge(entries)
	d.unlock()
	return nil
}

// store records what is known about a workload: first its finished reloads, then its record. A workload that is gone loses its record.
func (d *keeper) store(ctx context.Context, ref reloader.WorkloadRef) (time.Duration, error) {
	if d.workers.crowded() {
		return ledgerDelay, nil
	}
	d.explain(ctx, ref)
	b := d.lock()
	waiting, t, recorded := b.records.finished[ref], b.index.byRef[ref], uint64(0)
	r, kept := b.records.earlier[ref]
	if t != nil {
		r, kept, recorded = b.scribe.record(t), true, t.recorded
	}
	d.unlock()
	for _, f := range waiting {
		if err := d.storeReload(ctx, f); err != nil {
			return 0, fmt.Errorf("store a reload of %s: %w", ref, err)
		}
		d.lock().records.stored(ref)
		d.unlock()
	}
	if !kept {
		return 0, d.History.DeleteWorkload(ctx, d.Cluster, ref)
	}
	news := printOf(r)
	if news == recorded {
		return 0, nil
	}
	if err := d.History.PutWorkload(ctx, r); err != nil {
		return 0, fmt.Errorf("store the record of %s: %w", ref, err)
	}
	if t != nil {
		d.lock()
		t.recorded = news
		d.unlock()
	}
	return 0, nil
}

// storeReload stores f, and announces it unless it adds to the last reload on record.
func (d *keeper) storeReload(ctx context.Context, f finished) error {
	r, news, last := f.reload, true, reloader.Reload{}
	if f.amend != nil {
		var err error
		if last, _, err = d.History.LastReload(ctx, d.Cluster, f.w.Ref()); err != nil {
			return err
		}
		r, news = f.amend(last)
	}
	if !news {
		return nil
	}
	if err := d.History.AppendReload(ctx, r); err != nil {
		return err
	}
	if r.ID != last.ID {
		d.Announcer.Announce(f.w, r)
	}
	return nil
}

func (d *keeper) storeChanges(ctx context.Context, c reloader.Config) (time.Duration, error) {
	for {
		e := d.lock().configs[c]
		if e == nil || len(e.unstored) == 0 {
			d.unlock()
			return 0, nil
		}
		change := e.unstored[0]
		d.unlock()
		if err := d.History.AppendChange(ctx, change); err != nil {
			return 0, fmt.Errorf("store change %s of %s: %w", change.ID, c, err)
		}
		d.lock()
		if e.unstored[0].ID == change.ID {
			e.unstored = append([]reloader.Change(nil), e.unstored[1:]...) // the array has the change
		}
		d.unlock()
	}
}

// storeRest has everything stored that is known, when nothing is begun any more.
func (d *keeper) storeRest() {
	b := d.lock()
	defer d.unlock()
	for ref := range b.records.finished {
		d.recordQ.Add(ref)
	}
	for namespace := range b.states.changed {
		d.ledgerQ.Add(namespace)
	}
	for c, e := range b.configs {
		if len(e.unstored) > 0 {
			d.changeQ.Add(c)
		}
	}
}

// StoreAgain stores the records of workloads once more: NATS may have lost them.
func (d *keeper) StoreAgain() {
	b := d.lock()
	defer d.unlock()
	for ref := range b.records.earlier {
		d.recordQ.Add(ref)
	}
	for ref, t := range b.index.byRef {
		t.recorded = 0
		d.recordQ.Add(ref)
	}
}

// forgetUnseen ends what earlier processes left of workloads that went away while none ran. Those of a kind that cannot be seen now are kept until it can.
func (d *keeper) forgetUnseen() {
	b := d.lock()
	defer d.unlock()
	for ref := range b.records.earlier {
		if d.Workloads.Tracked(ref.Kind) {
			delete(b.records.earlier, ref)
			d.recordQ.Add(ref)
		}
	}
}
