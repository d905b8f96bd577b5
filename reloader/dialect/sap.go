package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The annotations of SAP's pod-reloader.
const (
	sapConfigMaps = "pod-reloader.cs.sap.com/configmaps"
	sapSecrets    = "pod-reloader.cs.sap.com/secrets"
)

// SAPHashKey is the pod template annotation with the mark of SAP's pod-reloader.
const SAPHashKey = "pod-reloader.cs.sap.com/config-hash"

// SAP returns the dialect of SAP's pod-reloader. Other than the tool, what counts is content: a label that is put on a config rolls
// nothing. The mark is of the tool's form and made of digests; the one that the tool made of versions proves as well that nothing was missed.
func SAP() *Dialect {
	return &Dialect{
		Tool: Tool{Name: "sap", Domain: "pod-reloader.cs.sap.com"},
		Clauses: []Clause{
			{sapConfigMaps, OnWorkload, configMaps, Ask, Names},
			{sapSecrets, OnWorkload, secrets, Ask, Names},
		},
		Marking:  Marking{Joint: &Joint{Values: sapValues}, Mark: mark.Joint("sap", SAPHashKey), Writes: []string{SAPHashKey}},
		Kinds:    tools,
		Off:      []string{"pod-reloader.cs.sap.com/ignored", "pod-reloader.cs.sap.com/disabled"},
		OnCreate: true,
		OnDelete: true,
	}
}

// sapValues returns the mark of digests, then the tool's own: of versions, once with the names as they are meant and
// once as the tool reads them, with the spaces around them, so that it finds nothing.
func sapValues(w *workload.Workload, parts map[reloader.Config]Part) []string {
	sum := func(p Part) string { return p.Sum }
	version := func(p Part) string {
		if p.UID == "" {
			return ""
		}
		return p.UID + "." + p.ResourceVersion
	}
	asIs := func(s string) string { return s }
	return []string{sapHash(w, parts, sum, strings.TrimSpace), sapHash(w, parts, version, strings.TrimSpace), sapHash(w, parts, version, asIs)}
}

// sapHash hashes one line for each config that w lists, in the order of the lists.
func sapHash(w *workload.Workload, parts map[reloader.Config]Part, what func(Part) string, trim func(string) string) string {
	h := sha256.New()
	for _, list := range []struct {
		key  string
		kind reloader.ConfigKind
	}{{sapConfigMaps, reloader.ConfigMap}, {sapSecrets, reloader.Secret}} {
		for text := range strings.SplitSeq(w.Annotations[list.key], ",") {
			if text = trim(text); text == "" {
				continue
			}
			c := reloader.Config{Kind: list.kind, Namespace: w.Namespace, Name: text}
			fmt.Fprintf(h, "%s/%s/%s/%s\n", strings.ToLower(string(c.Kind)), c.Namespace, c.Name, what(parts[c]))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
