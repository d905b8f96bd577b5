package dialect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The annotations of Wave.
const (
	waveAuto       = "wave.pusher.com/update-on-config-change"
	waveConfigMaps = "wave.pusher.com/extra-configmaps"
	waveSecrets    = "wave.pusher.com/extra-secrets"
)

// WaveHashKey is the pod template annotation with the mark of Wave.
const WaveHashKey = "wave.pusher.com/config-hash"

// Wave keeps the pods of a new workload from being scheduled until its configs exist. Once Wave is gone, they would wait forever.
const (
	// SchedulingKey is Wave's annotation on a workload with the name of the scheduler that its pods had before.
	SchedulingKey = "wave.pusher.com/scheduling-disabled"
	// NoScheduler is the schedulerName that Wave gives such pods.
	NoScheduler = "wave.pusher.com/invalid"
)

// Unscheduled reports whether Wave keeps the pods of w from being scheduled.
func Unscheduled(w *workload.Workload) bool {
	return w.TemplateOf == nil && w.Template.Scheduler == NoScheduler
}

// Release returns the roll that gives the pods of w the scheduler that they had before Wave.
func Release(w *workload.Workload) mark.Roll {
	r := mark.Roll{Scheduler: w.Annotations[SchedulingKey], Annotations: map[string]any{SchedulingKey: nil}}
	if r.Scheduler == "" || r.Scheduler == NoScheduler {
		r.Scheduler = corev1.DefaultSchedulerName
	}
	return r
}

// Wave returns the dialect of Wave. Other than the tool, it sees what init containers refer to, and a config of another
// namespace must be shared by its owner. A workload waits for a missing config or key that its pods need to start,
// whatever has changed.
func Wave() *Dialect {
	return &Dialect{
		Tool: Tool{Name: "wave", Domain: "wave.pusher.com", More: []string{SchedulingKey}},
		Clauses: []Clause{
			{waveConfigMaps, OnWorkload, configMaps, Ask, NamesAcross},
			{waveSecrets, OnWorkload, secrets, Ask, NamesAcross},
			{waveAuto, OnWorkload, plainConfigs, AskReferenced, True},
		},
		Marking: Marking{
			Joint: &Joint{Reads: true, Values: waveHash, IgnoredByMark: waveIgnored, OnlyUsed: waveOnlyUsed},
			Mark:  mark.Joint("wave", WaveHashKey), Writes: []string{WaveHashKey, SchedulingKey},
		},
		Kinds:    tools,
		Requires: waveAuto,
		OnCreate: true,
		Optional: waveOptional,
		Waits:    true,
	}
}

// waveOptional reports whether w's pods start without c: each of its references is optional, and so is what it names without a reference.
func waveOptional(w *workload.Workload, c reloader.Config) bool {
	if r := w.Template.References.Get(c); r != nil {
		return r.Optional
	}
	return waveNames(w, c)
}

// waveOnlyUsed reports whether Wave looks at nothing of c but the keys in use.
func waveOnlyUsed(w *workload.Workload, c reloader.Config) bool { return !waveCovers(w, c).all }

// waveNeeds is what Wave hashes of one config: some keys, all keys, or nothing.
type waveNeeds struct {
	keys []string
	all  bool
}

// waveCovers returns what Wave hashes of c: all of it if w names it, mounts it or takes its environment from it, and single keys of
// variables and projected volumes. Init containers and pull secrets are not looked at.
func waveCovers(w *workload.Workload, c reloader.Config) waveNeeds {
	needs := waveNeeds{all: waveNames(w, c)}
	r := w.Template.References.Get(c)
	if r == nil {
		return needs
	}
	for _, u := range r.Uses {
		switch u.How {
		case workload.UseVolume:
			needs.all = true
		case workload.UseEnv, workload.UseEnvFrom:
			if !w.Template.Has(u.Container) {
				continue
			}
		case workload.UseProjectedVolume:
		default:
			continue
		}
		needs.all = needs.all || len(u.Keys) == 0
		needs.keys = append(needs.keys, u.Keys...)
	}
	return needs
}

// waveIgnored reports whether Wave's hash may not cover c: it covers nothing of c, or another namespace has a config of its name, of
// which one can hide the other.
func waveIgnored(w *workload.Workload, c reloader.Config) bool {
	for item := range items(w.Annotations[waveList(c.Kind)]) {
		if namespace, name, across := strings.Cut(item, "/"); across && name == c.Name && namespace != w.Namespace {
			return true
		}
	}
	needs := waveCovers(w, c)
	return !needs.all && len(needs.keys) == 0
}

// waveNames reports whether the list of w names c.
func waveNames(w *workload.Workload, c reloader.Config) bool {
	full := c.Namespace + "/" + c.Name
	for item := range items(w.Annotations[waveList(c.Kind)]) {
		if item == full || item == c.Name && c.Namespace == w.Namespace {
			return true
		}
	}
	return false
}

// waveList returns the key of the annotation that names configs of a kind.
func waveList(kind reloader.ConfigKind) string {
	if kind == reloader.Secret {
		return waveSecrets
	}
	return waveConfigMaps
}

// waveHash returns Wave's hash: of a JSON text with the values of all that it covers, in base64, by name and key. Configs of the same
// name in different namespaces are one; the keys of the workload's own namespace hide those of the others; those that are absent are
// left out.
func waveHash(w *workload.Workload, parts map[reloader.Config]Part) []string {
	type object map[string][]byte
	sum := struct {
		ConfigMaps map[string]object `json:"configMaps"`
		Secrets    map[string]object `json:"secrets"`
	}{map[string]object{}, map[string]object{}}
	for _, c := range ownLast(w, parts) {
		part, needs := parts[c], waveCovers(w, c)
		if part.Content.IsZero() || !needs.all && len(needs.keys) == 0 {
			continue
		}
		of := sum.ConfigMaps
		if c.Kind == reloader.Secret {
			of = sum.Secrets
		}
		if of[c.Name] == nil {
			of[c.Name] = object{}
		}
		part.Content.Each(func(_ digest.Section, key string, value []byte) {
			if needs.all || slices.Contains(needs.keys, key) {
				of[c.Name][key] = value
			}
		})
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return nil
	}
	hash := sha256.Sum256(text)
	return []string{hex.EncodeToString(hash[:])}
}

// ownLast returns the configs of parts in an order that is always the same, those of w's own namespace last.
func ownLast(w *workload.Workload, parts map[reloader.Config]Part) []reloader.Config {
	return slices.SortedFunc(maps.Keys(parts), func(a, b reloader.Config) int {
		if own := a.Namespace == w.Namespace; own != (b.Namespace == w.Namespace) {
			if own {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.String(), b.String())
	})
}
