package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Xing returns the dialect of kubernetes-deployment-restart-controller of xing. Other than the tool, it sees every reference, and binary
// data counts.
func Xing() *Dialect {
	return &Dialect{
		Name:         "xing",
		FieldManager: workload.MarkManager,
		Clauses:      []Clause{{"com.xing.deployment-restart", OnWorkload, plainConfigs, AutoIfEnabled}},
		Sees:         func(*workload.Reference) bool { return true },
		MarkValue:    xingHash,
		Marks:        strategy.Xing.Name,
		Writes:       []string{strategy.XingChecksumsKey, strategy.XingTimestampKey},
		Kinds:        tools,
	}
}

// xingHashBytes is how much of the SHA-256 the tool writes.
const xingHashBytes = 8

// xingHash returns what the tool writes: the first bytes of the SHA-256 of the data as JSON. Binary data is left out.
func xingHash(c digest.Content, kind reloader.ConfigKind) string {
	texts, secrets := map[string]string{}, map[string][]byte{}
	c.Each(func(s digest.Section, key string, value []byte) {
		if s == digest.Data {
			texts[key], secrets[key] = string(value), value
		}
	})
	var data any = texts
	if kind == reloader.Secret {
		data = secrets
	}
	if len(texts) == 0 {
		data = nil // as the field is when it is not there
	}
	text, err := json.Marshal(data)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:xingHashBytes])
}
