package kube

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reroll-dev/reroll/reloader"
)

// LedgerName is the ConfigMap whose creation is the birth of the ledger. Names of ConfigMaps with entries begin with it.
const LedgerName = "reroll-ledger"

const (
	// MaxLedgerEntry is the largest entry that the ledger takes, in bytes.
	MaxLedgerEntry = 64 << 10
	// maxPage is how many bytes of entries one ConfigMap has, and maxPages how many ConfigMaps one namespace: the API server takes 1 MiB.
	maxPage, maxPages = 256 << 10, 64
	// ledgerPage is how many ConfigMaps one request asks for.
	ledgerPage = 50
	// maxKey is the longest key of a ConfigMap.
	maxKey = 253

	ledgerLabel     = "reroll.dev/ledger"
	ledgerCurrent   = "current"
	ledgerSelector  = ledgerLabel + "=" + ledgerCurrent
	ledgerNamespace = "reroll.dev/namespace"
)

// book is the ledger of one workload namespace. An entry stays in its ConfigMap while there is room, and otherwise moves to a later one.
type book struct {
	mu    sync.Mutex
	pages []page
	// moved says that the ConfigMaps must be read. It is read without mu: nobody waits for a write to learn that there is nothing new.
	moved atomic.Bool
}

// page is one ConfigMap as this process last read or wrote it. The version is empty if it is not stored.
type page struct {
	version string
	data    map[string]string
}

// pageName returns the name of one of the ConfigMaps of a namespace. No namespace has a dot in its name.
func pageName(namespace string, i int) string {
	return LedgerName + "-" + namespace + "." + strconv.Itoa(i)
}

// pageNamed returns which ConfigMap of which namespace has a name; false if none has.
func pageNamed(name string) (namespace string, i int, ok bool) {
	namespace, number, _ := strings.Cut(strings.TrimPrefix(name, LedgerName+"-"), ".")
	i, err := strconv.Atoi(number)
	return namespace, i, err == nil && i >= 0 && i < maxPages && name == pageName(namespace, i)
}

// refOf returns the workload that a key stands for. It reports false if the key or its entry cannot be stored. No workload has pods whose
// name is too long for a key.
func refOf(namespace, key, entry string) (ref reloader.WorkloadRef, ok bool) {
	kind, name, _ := strings.Cut(key, ".")
	ref = reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}
	return ref, len(key) <= maxKey && ref.Validate() == nil && entry != "" && len(entry) <= MaxLedgerEntry
}

// entries returns all entries of b that can be read.
func (b *book) entries(namespace string) map[reloader.WorkloadRef]string {
	all := map[reloader.WorkloadRef]string{}
	for _, p := range b.pages {
		for key, entry := range p.data {
			if ref, ok := refOf(namespace, key, entry); ok {
				all[ref] = entry
			}
		}
	}
	return all
}

// with returns the pages of b as they are after a change, and which entries are refused.
func (b *book) with(namespace string, changed map[reloader.WorkloadRef]string) (next []map[string]string, refused error) {
	where, sizes := map[string]int{}, make([]int, len(b.pages))
	for i, p := range b.pages {
		next = append(next, maps.Clone(p.data))
		for key, value := range p.data {
			where[key] = i
			sizes[i] += len(key) + len(value)
		}
	}
	for ref, entry := range changed {
		key := ref.Kind + "." + ref.Name
		if _, ok := refOf(namespace, key, entry); entry != "" && !ok {
			refused = errors.Join(refused, fmt.Errorf("the ledger does not take an entry of %d bytes for %s", len(entry), ref))
			continue
		}
		i, has := where[key]
		if has {
			sizes[i] -= len(key) + len(next[i][key])
			delete(next[i], key)
		}
		if entry == "" {
			continue
		}
		for size := len(key) + len(entry); ; i++ {
			if i == len(next) {
				next, sizes = append(next, nil), append(sizes, 0)
			}
			if sizes[i]+size > maxPage {
				continue
			}
			if next[i] == nil {
				next[i] = map[string]string{}
			}
			next[i][key] = entry
			sizes[i] += size
			break
		}
	}
	return next, refused
}
