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

	"github.com/reroll-dev/reroll/reloader"
)

// Ledger keeps one entry for each workload, an opaque text in UTF-8, in ConfigMaps of Reroll's own namespace. Each workload namespace has
// ConfigMaps of its own, so that it affects no other one. Methods may be called at the same time; those for one namespace wait for each other.
//
// The leader alone calls Load, Changed and Put. If two processes lead for a moment, the resource versions of the ConfigMaps decide, and Put of
// the slower one fails.
type Ledger struct {
	cluster *Cluster

	mu    sync.Mutex
	books map[string]*book
}

// NewLedger returns a ledger of which nothing has been read.
func NewLedger(c *Cluster) *Ledger { return &Ledger{cluster: c, books: map[string]*book{}} }

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
// The first Load creates one. Load logs entries that it cannot read, gives their keys the prefix reloader.DamagedPrefix, and treats them as lost. A dry run
// writes nothing; a ledger that does not exist is born now. After etcd was restored, call Load.
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
		if namespace, _, ok := pageNamed(m.Name); ok {
			of[namespace] = append(of[namespace], m)
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
	if !b.moved.Load() {
		return nil, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found, err := l.list(ctx, namespace)
	if err == nil {
		err = l.adopt(ctx, namespace, b, found)
	}
	if err != nil {
		return nil, false, err
	}
	b.moved.Store(false)
	return b.entries(namespace), true, nil
}

// Put stores the entries of workloads of one namespace; an empty entry is forgotten. It writes only the ConfigMaps that change. It leaves out an
// entry that is longer than MaxLedgerEntry, with an error. After any error some entries may be stored, and another process may have written
// others: call Changed, decide again, and call Put again.
func (l *Ledger) Put(ctx context.Context, namespace string, changed map[reloader.WorkloadRef]string) error {
	b := l.book(namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	next, refused := b.with(namespace, changed)
	if len(next) > maxPages {
		return fmt.Errorf("the ledger has no room for all entries of namespace %s", namespace)
	}
	err := l.write(ctx, namespace, b, next)
	if err != nil {
		b.moved.Store(true)
	}
	return errors.Join(err, refused)
}

// adopt makes b what the ConfigMaps of its namespace say, and creates again what is gone. If a process ended while it moved an entry, two
// ConfigMaps have it; the later one is newer.
func (l *Ledger) adopt(ctx context.Context, namespace string, b *book, found []corev1.ConfigMap) error {
	for i := range b.pages {
		b.pages[i].version = ""
	}
	for _, m := range found {
		of, i, ok := pageNamed(m.Name)
		if !ok || of != namespace {
			continue
		}
		for len(b.pages) <= i {
			b.pages = append(b.pages, page{})
		}
		b.pages[i] = page{m.ResourceVersion, m.Data}
	}
	next, seen := make([]map[string]string, len(b.pages)), map[string]bool{}
	for i, p := range slices.Backward(b.pages) {
		next[i] = maps.Clone(p.data)
		for key, entry := range p.data {
			if seen[key] {
				delete(next[i], key)
			}
			seen[key] = true
			if _, ok := refOf(namespace, key, entry); !ok && !strings.HasPrefix(key, reloader.DamagedPrefix) {
				aside := reloader.DamagedPrefix + key
				delete(next[i], key)
				next[i][aside[:min(len(aside), maxKey)]] = entry
				l.cluster.options.Logger.Error("an entry of the ledger cannot be read and is lost",
					"configmap", l.cluster.Namespace+"/"+pageName(namespace, i), "key", fmt.Sprintf("%.80s", key))
			}
		}
	}
	return l.write(ctx, namespace, b, next)
}

// write makes the ConfigMaps of a namespace say next, the last one first. A dry run writes nothing.
func (l *Ledger) write(ctx context.Context, namespace string, b *book, next []map[string]string) error {
	if l.cluster.options.DryRun {
		return nil
	}
	for len(b.pages) < len(next) {
		b.pages = append(b.pages, page{})
	}
	for i, data := range slices.Backward(next) {
		p, name := &b.pages[i], pageName(namespace, i)
		switch {
		case len(data) == 0 && p.version != "":
			if err := l.drop(ctx, name, p.version); err != nil {
				return err
			}
			*p = page{}
		case len(data) > 0 && (p.version == "" || !maps.Equal(data, p.data)):
			m := &corev1.ConfigMap{ObjectMeta: l.meta(name, namespace), Data: data}
			m.ResourceVersion = p.version
			written, err := l.put(ctx, m)
			if err != nil {
				return err
			}
			*p = page{written.ResourceVersion, data}
		}
	}
	return nil
}
