package dispatcher_test

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// store is what survives a dispatcher: changes and records, as the bytes that go over the wire. Its errors are those of a lost
// connection.
type store struct {
	mu      sync.Mutex
	changes map[reloader.Config][]byte
	records map[reloader.WorkloadRef][]byte
	reloads [][]byte
	// lostChanges and lostRecords are the errors of the two, nil if they work.
	lostChanges, lostRecords error
	announced                []reloader.Reload
	// puts counts the records that were stored.
	puts int
}

var _ dispatcher.History = (*store)(nil)

func encode[R reloader.Record](r R) []byte {
	data, err := reloader.Encode(r)
	if err != nil {
		panic(err)
	}
	return data
}

func decode[R reloader.Record](data []byte) R {
	r, err := reloader.Decode[R](data)
	if err != nil {
		panic(err)
	}
	return r
}

// lose makes calls fail from now on; nil ends that.
func (s *store) lose(changes, records error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lostChanges, s.lostRecords = changes, records
}

// work does something with what is stored, unless the connection is lost.
func (s *store) work(lost *error, do func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *lost == nil {
		do()
	}
	return *lost
}

// LoadChanges returns the newest change of every config.
func (s *store) LoadChanges(context.Context, string) (map[reloader.Config]reloader.Change, error) {
	all := map[reloader.Config]reloader.Change{}
	return all, s.work(&s.lostChanges, func() {
		for c, e := range s.changes {
			all[c] = decode[reloader.Change](e)
		}
	})
}

// AppendChange appends.
func (s *store) AppendChange(_ context.Context, c reloader.Change) error {
	return s.work(&s.lostChanges, func() { s.changes[c.Config] = encode(c) })
}

// LoadWorkloads returns every record.
func (s *store) LoadWorkloads(context.Context, string) (all []reloader.WorkloadRecord, err error) {
	err = s.work(&s.lostRecords, func() {
		for _, data := range s.records {
			all = append(all, decode[reloader.WorkloadRecord](data))
		}
	})
	return all, err
}

// PutWorkload replaces a record.
func (s *store) PutWorkload(_ context.Context, r reloader.WorkloadRecord) error {
	return s.work(&s.lostRecords, func() { s.records[r.Workload] = encode(r); s.puts++ })
}

// stored returns how many records were stored since it was called last.
func (s *store) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.puts = 0 }()
	return s.puts
}

// DeleteWorkload deletes a record.
func (s *store) DeleteWorkload(_ context.Context, _ string, ref reloader.WorkloadRef) error {
	return s.work(&s.lostRecords, func() { delete(s.records, ref) })
}

// AppendReload appends.
func (s *store) AppendReload(_ context.Context, r reloader.Reload) error {
	return s.work(&s.lostRecords, func() { s.reloads = append(s.reloads, encode(r)) })
}

// LastReload returns the newest reload of a workload.
func (s *store) LastReload(_ context.Context, _ string, ref reloader.WorkloadRef) (last reloader.Reload, found bool, err error) {
	err = s.work(&s.lostRecords, func() {
		for _, data := range s.reloads {
			if r := decode[reloader.Reload](data); r.Workload == ref {
				last, found = r, true
			}
		}
	})
	return last, found, err
}

// Announce takes note of what people would read.
func (s *store) Announce(_ *workload.Workload, r reloader.Reload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced = append(s.announced, r)
}

// Stalled says nothing.
func (*store) Stalled(*workload.Workload, string) {}

// Complain says nothing.
func (*store) Complain(*workload.Workload, string) {}

// reloadsOf returns the reloads of a workload, oldest first, each as it was recorded last.
func (s *store) reloadsOf(ref reloader.WorkloadRef) []reloader.Reload {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []reloader.Reload
	for _, data := range s.reloads {
		r := decode[reloader.Reload](data)
		if r.Workload != ref {
			continue
		}
		at := slices.IndexFunc(found, func(o reloader.Reload) bool { return o.ID == r.ID && o.DecidedAt.Equal(r.DecidedAt) })
		if at < 0 || r.Rollout == nil && reflect.DeepEqual(r.Causes, found[at].Causes) {
			found = append(found, r)
		} else {
			found[at] = r // a later word: what became of it, or who was behind it
		}
	}
	return found
}

// recordOf returns the record of a workload.
func (s *store) recordOf(ref reloader.WorkloadRef) (reloader.WorkloadRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.records[ref]
	if !ok {
		return reloader.WorkloadRecord{}, false
	}
	return decode[reloader.WorkloadRecord](data), true
}
