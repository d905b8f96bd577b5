package dialect

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
)

const triggerPrefix = "trigger.k8s.io/"

// Trigger returns the dialect of k8s-trigger-controller. Other than the tool, names in lists are trimmed, a config need not be mounted as a
// volume, one of the same name in another namespace is another one, and nothing is written to configs.
func Trigger() *Dialect {
	return &Dialect{
		Tool: Tool{Name: "trigger", Domain: "trigger.k8s.io", More: []string{triggerPrefix + "data-hash"}},
		Clauses: []Clause{
			{triggerPrefix + "triggering-configMaps", OnWorkload, configMaps, Ask, Names},
			{triggerPrefix + "triggering-secrets", OnWorkload, secrets, Ask, Names},
		},
		Marking: Marking{
			MarkValue: triggerHash, Mark: triggerMark,
			Writes: []string{triggerPrefix + "configMap-*", triggerPrefix + "secret-*"},
		},
		Kinds:    tools,
		OnCreate: true,
	}
}

// triggerMark is an annotation of the pod template for each config.
var triggerMark = mark.Annotated("trigger", func(c reloader.Config) string {
	if c.Kind == reloader.Secret {
		return triggerPrefix + "secret-" + c.Name + "-last-hash"
	}
	return triggerPrefix + "configMap-" + c.Name + "-last-hash"
})

// triggerHash returns the SHA-1 that the tool writes: of all keys of data, then those of binary data, then the values in the same order,
// with nothing in between. The tool has none for a config without entries.
func triggerHash(c digest.Content) string {
	keys, values, some := sha1.New(), [][]byte(nil), false
	c.Each(func(_ digest.Section, key string, value []byte) {
		keys.Write([]byte(key))
		values, some = append(values, value), true
	})
	if !some {
		return ""
	}
	for _, v := range values {
		keys.Write(v)
	}
	return hex.EncodeToString(keys.Sum(nil))
}
