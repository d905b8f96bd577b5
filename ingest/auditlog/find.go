package auditlog

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
)

// find opens the file in which to go on: that of the saved place, wherever it is now; if it is gone or was none, what followed.
func (t *Tail) find() error {
	f, err := t.locate(t.saved)
	if err == nil && f == nil {
		f, err = t.successor(t.saved.Done)
	}
	if err != nil {
		return err
	}
	if f == nil {
		return &fs.PathError{Op: "open", Path: t.opts.Path, Err: fs.ErrNotExist}
	}
	t.use(f)
	return nil
}

// locate opens the file of p at p: the one that is being written or a rotated one. It returns nil if there is none, or if nothing
// was read of it.
func (t *Tail) locate(p place) (*file, error) {
	if p.Offset == 0 {
		return nil, nil
	}
	f, err := openAt(t.opts.Path, nil, p)
	if err == nil || !isAbsent(err) {
		return f, err
	}
	all, err := siblings(t.opts.Path, t.opts.StatePath)
	if err != nil {
		return nil, err
	}
	for i := range all {
		f, err := openAt(all[i].path, &all[i], p)
		if err == nil || !isAbsent(err) && !isBroken(err) {
			return f, err
		}
	}
	return nil, nil
}

// isAbsent reports whether err says that there is no such file.
func isAbsent(err error) bool { return errors.Is(err, errOther) || errors.Is(err, fs.ErrNotExist) }

// successor opens the file that follows done: the oldest that was rotated after that, or the one that is being written. It returns
// nil if there is none yet.
func (t *Tail) successor(done order) (*file, error) {
	// In this order: what is rotated between the two looks is a rotated file in the second.
	written, err := open(t.opts.Path, nil)
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	rotated, err := t.rotatedAfter(done)
	if err != nil || rotated != nil {
		if written != nil {
			_ = written.close()
		}
		return rotated, err
	}
	return written, nil
}

// rotatedAfter opens the oldest file that was rotated after done.
func (t *Tail) rotatedAfter(done order) (*file, error) {
	all, err := siblings(t.opts.Path, t.opts.StatePath)
	if err != nil {
		return nil, err
	}
	for _, s := range after(all, done) {
		f, err := open(s.path, &s)
		if isBroken(err) {
			t.opts.Logger.Error("rotated audit log cannot be read", slog.String("file", s.Name), slog.Any("error", err))
			continue
		}
		// A file that is not there any more has just been renamed or compressed: the next look finds it.
		return f, err
	}
	return nil, nil
}

// checkTurn returns errOvertaken if a rotated file comes before the one that is being read. So it is when that was copied and
// truncated before anything was read of it, which it does not show itself.
func (t *Tail) checkTurn() error {
	if t.file.rotated != nil {
		return nil
	}
	all, err := siblings(t.opts.Path, t.opts.StatePath)
	if err != nil {
		return err
	}
	if next := after(all, t.saved.Done); len(next) > 0 && !t.file.same(next[0].info) {
		return errOvertaken
	}
	return nil
}

// finished returns where the file that is being read stands among the rotated ones.
func (t *Tail) finished() (order, error) {
	all, err := siblings(t.opts.Path, t.opts.StatePath)
	if err != nil {
		return order{}, err
	}
	p := t.file.place(t.lines.offset, t.saved.Done)
	for i := range all {
		if t.file.same(all[i].info) {
			return all[i].order, nil
		}
		if p.Offset == 0 {
			continue
		}
		if own, err := openAt(all[i].path, &all[i], p); err == nil {
			return all[i].order, own.close()
		}
	}
	if t.file.rotated != nil {
		return t.file.rotated.order, nil
	}
	return t.saved.Done, nil
}

// advance goes to the next file, if there is one, and reports whether there is.
func (t *Tail) advance(ctx context.Context) bool {
	var next *file
	done, err := t.finished()
	if err == nil {
		next, err = t.successor(done)
	}
	t.health.set(stepRead, err)
	if err != nil || next == nil {
		return false
	}
	batch := t.newBatch()
	if rest := t.lines.rest(); len(rest) > 0 {
		t.add(batch, rest)
	}
	if !t.store(ctx, batch) {
		_ = next.close()
		return false
	}
	t.metrics.rotations.Inc()
	t.saved.Done = done
	t.use(next)
	t.save()
	return true
}

// rewind goes on after the file was truncated: in its copy, or from its beginning.
func (t *Tail) rewind() error {
	f, err := t.locate(t.saved)
	if err == nil && f == nil {
		if t.saved.Offset > 0 {
			t.metrics.truncations.Inc()
			t.opts.Logger.Warn("audit log was truncated, what was not read is lost", slog.Int64("offset", t.saved.Offset))
		}
		f, err = t.successor(t.saved.Done)
	}
	t.health.set(stepRead, err)
	switch {
	case err != nil || f == nil:
		t.leave()
		return errors.Join(err, errTruncated)
	}
	t.use(f)
	t.save()
	return nil
}
