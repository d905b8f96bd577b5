package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
)

// Errors of Ledger.Put.
var (
	// ErrLedgerMoved means that the ledger of a namespace is not what this process last read or wrote: another process wrote it, or it is gone.
	// Call Changed, decide again, and call Put again.
	ErrLedgerMoved = errors.New("the ledger has changed since it was read")
	// ErrLedgerFull means that an entry is longer than MaxLedgerEntry, or that the namespace has more entries than its ConfigMaps hold. In the
	// first case Put keeps what is stored of that workload and writes the other entries; in the second it writes nothing.
	ErrLedgerFull = errors.New("the ledger does not take this entry")
)

// Ledger keeps one entry for each workload, an opaque text in UTF-8, in ConfigMaps of Reroll's own namespace. Each workload namespace has
// ConfigMaps of its own, so that it affects no other one. Methods may be called at the same time; those for one namespace wait for each other.
//
// The leader alone calls Load, Changed and Put. If two processes lead for a moment, the resource versions of the ConfigMaps decide, and Put of
// the slower one returns ErrLedgerMoved.
type Ledger struct {
	cluster *Cluster

	mu    sync.Mutex
	books map[string]*book
	// seen has what the watch saw of each namespace since Changed last checked, by the name of the ConfigMap.
	seen map[string]map[string]sighting
}

// book is the ledger of one workload namespace: entries by key, spread over ConfigMaps by a hash of the key.
type book struct {
	mu     sync.Mutex
	shards []shard
	// moved says that the ConfigMaps must be read.
	moved bool
}

// shard is one ConfigMap as this process last read or wrote it. The version is empty if it is not stored.
type shard struct {
	version string
	data    map[string]string
}

// NewLedger returns a ledger of which nothing has been read.
func NewLedger(c *Cluster) *Ledger {
	return &Ledger{cluster: c, books: map[string]*book{}, seen: map[string]map[string]sighting{}}
}

// Holds reports whether a config is one of the ConfigMaps of the ledger, by its name.
func (l *Ledger) Holds(c reloader.Config) bool {
	return c.Kind == reloader.ConfigMap && c.Namespace == l.cluster.Namespace && (c.Name == LedgerName || strings.HasPrefix(c.Name, LedgerName+"-"))
}

func (l *Ledger) book(namespace string) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[namespace]
	if b == nil {
		b = &book{}
		l.books[namespace] = b
	}
	return b
}

// Load forgets what this process knows and reads all entries. It also returns when the ledger was born: the creation of its oldest ConfigMap.
// The first Load creates one. Load logs a ConfigMap that it cannot read, keeps it under another name, and treats it as lost. A dry run writes
// nothing; a ledger that does not exist is born now. After the API server went back to an earlier state, as when etcd is restored, call Load.
func (l *Ledger) Load(ctx context.Context) (entries map[reloader.WorkloadRef]string, born time.Time, err error) {
	l.mu.Lock()
	l.books = map[string]*book{}
	l.mu.Unlock()
	stored, err := l.list(ctx, "")
	if err != nil {
		return nil, time.Time{}, err
	}
	if !slices.ContainsFunc(stored, func(m corev1.ConfigMap) bool { return m.Name == LedgerName }) {
		birth, err := l.put(ctx, &corev1.ConfigMap{ObjectMeta: l.meta(LedgerName, "")})
		if err != nil {
			return nil, time.Time{}, err
		}
		stored = append(stored, *birth)
	}
	of := map[string][]corev1.ConfigMap{}
	for _, m := range stored {
		if at := m.CreationTimestamp.Time; born.IsZero() || at.Before(born) {
			born = at
		}
		if m.Name != LedgerName {
			of[m.Labels[ledgerNamespace]] = append(of[m.Labels[ledgerNamespace]], m)
		}
	}
	entries = map[reloader.WorkloadRef]string{}
	for namespace, found := range of {
		b := l.book(namespace)
		b.mu.Lock()
		err := l.adopt(ctx, namespace, b, found)
		maps.Copy(entries, b.entries(namespace))
		b.mu.Unlock()
		if err != nil {
			return nil, time.Time{}, err
		}
	}
	return entries, born, nil
}

// Changed reports whether others have changed the ledger of a namespace since Load, Put or Changed, and if so returns all of its entries. If
// nothing has changed it makes no request. A ConfigMap that is gone is created again with the entries that this process holds.
func (l *Ledger) Changed(ctx context.Context, namespace string) (entries map[reloader.WorkloadRef]string, changed bool, err error) {
	b := l.book(namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.passed(namespace, b) {
		b.moved = true
	}
	if !b.moved {
		return nil, false, nil
	}
	found, err := l.list(ctx, namespace)
	if err == nil {
		err = l.adopt(ctx, namespace, b, found)
	}
	if err != nil {
		return nil, false, err
	}
	b.moved = false
	return b.entries(namespace), true, nil
}

// Put stores the entries of workloads of one namespace; an empty entry is forgotten. It writes only the ConfigMaps that change. After an error
// some entries may be stored: Changed tells. A dry run does nothing.
func (l *Ledger) Put(ctx context.Context, namespace string, changed map[reloader.WorkloadRef]string) error {
	if l.cluster.options.DryRun {
		return nil
	}
	b := l.book(namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	all, refused := b.with(namespace, changed)
	next, ok := spread(all, len(b.shards))
	if !ok {
		return fmt.Errorf("%w: namespace %s has %d entries", ErrLedgerFull, namespace, len(all))
	}
	err := l.write(ctx, namespace, b, next)
	b.moved = b.moved || err != nil
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		err = fmt.Errorf("%w: %w", ErrLedgerMoved, err)
	}
	return errors.Join(err, refused)
}

// adopt makes b what the ConfigMaps of its namespace say. It sets aside what is damaged, deletes what is replaced, and creates again what is
// lost. Of several numbers of ConfigMaps the largest counts whose first one exists, which write writes last.
func (l *Ledger) adopt(ctx context.Context, namespace string, b *book, found []corev1.ConfigMap) error {
	n, complete := 0, false
	for _, m := range found {
		if i, of := shardNamed(namespace, m.Name); of > 0 && (i == 0 && !complete || (i == 0) == complete && of > n) {
			n, complete = of, i == 0
		}
	}
	if n == 0 {
		n = len(b.shards)
	}
	shards := make([]shard, n)
	for _, m := range found {
		i, of := shardNamed(namespace, m.Name)
		var err error
		if damage := damageOf(namespace, m); damage != "" {
			err = l.setAside(ctx, m, damage)
		} else if of == n {
			shards[i] = shard{m.ResourceVersion, m.Data}
		} else {
			err = l.drop(ctx, m.Name, m.ResourceVersion)
		}
		if err != nil {
			return err
		}
	}
	for i := range shards {
		data := shards[i].data
		if shards[i].version == "" && n == len(b.shards) {
			data = b.shards[i].data
		}
		if err := l.keep(ctx, namespace, &shards[i], i, n, data); err != nil {
			return err
		}
	}
	b.shards = shards
	return nil
}

// write makes the ConfigMaps of a namespace say next. If their number differs, the old ones count until the first of the new ones is written,
// the last of all, and are then deleted.
func (l *Ledger) write(ctx context.Context, namespace string, b *book, next []map[string]string) error {
	shards, old := b.shards, []shard(nil)
	if len(next) != len(shards) {
		shards, old = make([]shard, len(next)), shards
	}
	for i, data := range slices.Backward(next) {
		if err := l.keep(ctx, namespace, &shards[i], i, len(next), data); err != nil {
			return err
		}
	}
	b.shards = shards
	for i, s := range old {
		if s.version == "" {
			continue
		}
		if err := l.drop(ctx, shardName(namespace, i, len(old)), s.version); err != nil {
			return err
		}
	}
	return nil
}

// keep writes one of n ConfigMaps if it does not say data yet. The first of several exists even if it is empty.
func (l *Ledger) keep(ctx context.Context, namespace string, s *shard, i, n int, data map[string]string) error {
	stored := s.version != ""
	if needed := len(data) > 0 || i == 0 && n > 1; !stored && !needed || stored && maps.Equal(data, s.data) {
		s.data = data
		return nil
	}
	m := &corev1.ConfigMap{ObjectMeta: l.meta(shardName(namespace, i, n), namespace), Data: data}
	m.ResourceVersion = s.version
	written, err := l.put(ctx, m)
	if err != nil {
		return err
	}
	*s = shard{written.ResourceVersion, data}
	return nil
}
