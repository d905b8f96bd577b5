package dialect

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Fabric8 returns the dialect of configmapcontroller of fabric8. Other than the tool, names in lists are trimmed, each variable has the
// hash of the ConfigMap that it is named after, and binary data counts.
func Fabric8() *Dialect {
	return &Dialect{
		Tool:     Tool{Name: "fabric8", Domain: "configmap.fabric8.io", Variables: workload.Fabric8Prefix},
		Clauses:  []Clause{{"configmap.fabric8.io/update-on-change", OnWorkload, configMaps, Ask, Names}},
		Marking:  Marking{MarkValue: fabric8Hash, Mark: fabric8Mark},
		Kinds:    tools,
		OnCreate: true,
	}
}

// fabric8Mark is a variable in every regular container. A container that was added later may lack it until the next roll.
var fabric8Mark = mark.Variables("fabric8", func(_ *workload.Workload, c reloader.Config) (mark.Place, error) {
	return mark.Place{Env: workload.Fabric8Prefix + mark.Variable(c.Name) + "_CONFIGMAP"}, nil
})

// fabric8Hash returns the SHA-256 that the tool writes, in the alphabet of base64 for URLs: of all key=value entries but those of binary
// data, sorted and joined by semicolons.
func fabric8Hash(c digest.Content) string {
	var entries []string
	c.Each(func(s digest.Section, key string, value []byte) {
		if s != digest.BinaryData {
			entries = append(entries, key+"="+string(value))
		}
	})
	slices.Sort(entries)
	sum := sha256.Sum256([]byte(strings.Join(entries, ";")))
	return base64.URLEncoding.EncodeToString(sum[:])
}
