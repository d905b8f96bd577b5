package dialect

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Collaborne returns the dialect of kubernetes-reloader of Collaborne. Other than the tool, names in lists are trimmed, and binary data
// counts.
func Collaborne() *Dialect {
	return &Dialect{
		Tool: Tool{Name: "collaborne", Domain: "reloader.k8s.collaborne.com", Variables: workload.CollabornePrefix},
		Clauses: []Clause{
			{"reloader.k8s.collaborne.com/configmap", OnWorkload, configMaps, Ask, Names},
			{"reloader.k8s.collaborne.com/secret", OnWorkload, secrets, Ask, Names},
		},
		Marking:  Marking{MarkValue: collaborneHash, Mark: collaborneMark},
		Kinds:    tools,
		OnCreate: true,
	}
}

// collaborneMark is a variable in the container that already has it, or else in the first.
var collaborneMark = mark.Variables("collaborne", func(w *workload.Workload, c reloader.Config) (mark.Place, error) {
	place := mark.Place{Env: workload.CollabornePrefix + mark.Variable(strings.ToLower(string(c.Kind))+"_"+c.Name)}
	for _, container := range w.Template.Containers {
		place.Containers = []string{container.Name}
		if value, own := place.Find(w); value != "" || own {
			return place, nil
		}
	}
	if len(w.Template.Containers) == 0 {
		return place, mark.ErrNoContainer
	}
	place.Containers = []string{w.Template.Containers[0].Name}
	return place, nil
})

// collaborneHash returns the SHA-1 that the tool writes: of all key=value entries, concatenated in JavaScript's order of
// keys. Values of Secrets are in base64, and binary data is left out, so that different contents can share one.
func collaborneHash(c digest.Content) string {
	type entry struct{ key, value string }
	var entries []entry
	c.Each(func(s digest.Section, key string, value []byte) {
		switch {
		case s == digest.BinaryData:
		case c.Config().Kind == reloader.Secret:
			entries = append(entries, entry{key, base64.StdEncoding.EncodeToString(value)})
		default:
			entries = append(entries, entry{key, string(value)})
		}
	})
	slices.SortStableFunc(entries, func(a, b entry) int { return byArrayIndex(a.key, b.key) })
	h := sha1.New()
	for _, e := range entries {
		h.Write([]byte(e.key + "=" + e.value))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// byArrayIndex compares keys as JavaScript orders them: whole numbers come first, by their size, and the others stay as they are.
func byArrayIndex(a, b string) int {
	m, isM := arrayIndex(a)
	n, isN := arrayIndex(b)
	switch {
	case isM && isN:
		return cmp.Compare(m, n)
	case isM:
		return -1
	case isN:
		return 1
	}
	return 0
}

// arrayIndex returns the number that key is as an index of a JavaScript array, below 2^32-1 and written in one way only.
func arrayIndex(key string) (uint64, bool) {
	n, err := strconv.ParseUint(key, 10, 32)
	return n, err == nil && n < 1<<32-1 && strconv.FormatUint(n, 10) == key
}
