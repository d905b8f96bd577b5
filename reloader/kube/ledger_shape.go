package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// LedgerName is the ConfigMap whose creation is the birth of the ledger. Names of ConfigMaps with entries begin with it.
const LedgerName = "reroll-ledger"

// Limits on the ledger.
const (
	// MaxLedgerEntry is the largest entry that the ledger takes, in bytes.
	MaxLedgerEntry = 64 << 10
	// goodShard is the size in bytes above which the entries of a namespace are spread over more ConfigMaps, and maxShard the largest one: the
	// API server takes 1 MiB.
	goodShard, maxShard = 256 << 10, 768 << 10
	// ledgerPage is how many ConfigMaps one request asks for.
	ledgerPage = 50
	// maxKey is how long Kubernetes lets a key of a ConfigMap be, and maxShardSpace how much of a namespace is part of a name.
	maxKey, maxShardSpace = 253, 40
)

// shardCounts are the numbers of ConfigMaps that a namespace can have.
var shardCounts = []int{1, 4, 16, 64}

// Labels of the ledger's ConfigMaps, an annotation of one that is set aside, and the beginning of its name.
const (
	ledgerLabel     = "reroll.dev/ledger"
	ledgerCurrent   = "current"
	ledgerDamaged   = "damaged"
	ledgerSelector  = ledgerLabel + "=" + ledgerCurrent
	ledgerNamespace = "reroll.dev/namespace"
	ledgerWasNamed  = "reroll.dev/was-named"
	damagedStart    = "reroll-damaged-"
)

// shardName returns the name of one of n ConfigMaps of a namespace, at most 63 characters. Of a long namespace it has a hash: no namespace has
// a dot in its name, so that no two names are equal.
func shardName(namespace string, i, n int) string {
	if len(namespace) > maxShardSpace {
		sum := sha256.Sum256([]byte(namespace))
		namespace = strings.TrimRight(namespace[:7], "-") + "." + hex.EncodeToString(sum[:16])
	}
	return fmt.Sprintf("%s-%s.%d-of-%d", LedgerName, namespace, i, n)
}

// shardNamed returns which ConfigMap of a namespace has a name; n is 0 if none has.
func shardNamed(namespace, name string) (i, n int) {
	place := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := fmt.Sscanf(place, "%d-of-%d", &i, &n); err != nil || !slices.Contains(shardCounts, n) || i < 0 || i >= n || name != shardName(namespace, i, n) {
		return 0, 0
	}
	return i, n
}

// shardOf returns in which of n ConfigMaps a key is.
func shardOf(key string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(n))
}

// keyOf returns the key of a workload and what its value begins with. A name that is too long for a key is in the value.
func keyOf(ref reloader.WorkloadRef) (key, prefix string) {
	if key = ref.Kind + "." + ref.Name; len(key) <= maxKey {
		return key, ""
	}
	sum := sha256.Sum256([]byte(ref.Name))
	return ref.Kind + ".." + hex.EncodeToString(sum[:]), ref.Name + "\n"
}

// entryOf returns the workload that a key stands for, and its entry.
func entryOf(namespace, key, value string) (ref reloader.WorkloadRef, entry string, ok bool) {
	kind, name, ok := strings.Cut(key, ".")
	if strings.HasPrefix(name, ".") {
		name, value, ok = strings.Cut(value, "\n")
	}
	ref = reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}
	again, _ := keyOf(ref)
	return ref, value, ok && again == key && ref.Validate() == nil && value != "" && len(value) <= MaxLedgerEntry
}

// damageOf says why a ConfigMap cannot be one of those of a namespace; empty if it can.
func damageOf(namespace string, m corev1.ConfigMap) string {
	i, n := shardNamed(namespace, m.Name)
	if n == 0 {
		return "its name and its label " + ledgerNamespace + " do not belong together"
	}
	if len(m.BinaryData) > 0 || m.Immutable != nil && *m.Immutable {
		return "it has binary data or is immutable"
	}
	for key, value := range m.Data {
		if _, _, ok := entryOf(namespace, key, value); !ok || shardOf(key, n) != i {
			return fmt.Sprintf("the key %.80q does not belong there, or its value is empty or too long", key)
		}
	}
	return ""
}

// entries returns all entries of b.
func (b *book) entries(namespace string) map[reloader.WorkloadRef]string {
	all := map[reloader.WorkloadRef]string{}
	for _, s := range b.shards {
		for key, value := range s.data {
			ref, entry, _ := entryOf(namespace, key, value)
			all[ref] = entry
		}
	}
	return all
}

// with returns the values of b by key as they are after a change, and which entries are refused.
func (b *book) with(namespace string, changed map[reloader.WorkloadRef]string) (all map[string]string, refused error) {
	all = map[string]string{}
	for _, s := range b.shards {
		maps.Copy(all, s.data)
	}
	for ref, entry := range changed {
		key, prefix := keyOf(ref)
		if entry == "" {
			delete(all, key)
		} else if _, _, ok := entryOf(namespace, key, prefix+entry); ok && ref.Namespace == namespace {
			all[key] = prefix + entry
		} else {
			refused = errors.Join(refused, fmt.Errorf("%w: %d bytes for %s", ErrLedgerFull, len(entry), ref))
		}
	}
	return all, refused
}

// spread distributes values over n ConfigMaps, or over more if one of those would be too large; over none if there are none. It reports whether
// they fit.
func spread(all map[string]string, n int) (next []map[string]string, ok bool) {
	if len(all) == 0 {
		return nil, true
	}
	for _, count := range shardCounts {
		if count < n {
			continue
		}
		next, sizes, largest := make([]map[string]string, count), make([]int, count), 0
		for key, value := range all {
			i := shardOf(key, count)
			if next[i] == nil {
				next[i] = map[string]string{}
			}
			next[i][key] = value
			sizes[i] += len(key) + len(value)
			largest = max(largest, sizes[i])
		}
		if largest <= goodShard || count == slices.Max(shardCounts) && largest <= maxShard {
			return next, true
		}
	}
	return nil, false
}
