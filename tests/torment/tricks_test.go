package torment

import (
	"fmt"
	"maps"
	"strings"

	"github.com/reroll-dev/reroll/tests/line"
)

// trick is a way to hurt, as one or several workloads of the tenant.
type trick struct {
	name   string
	copies int
	// makes returns the objects of one workload.
	makes func(o options, p place) workload
}

// stir is the ConfigMap that most workloads of the tenant use, so that one edit of it has them all rolled.
const stir = "stir"

// tricks returns all of them: 50 workloads.
func tricks() []trick {
	return append(listTricks(), append(choiceTricks(), holdingTricks()...)...)
}

// annotated is a trick of a Deployment with annotations that depend on the size of the run.
func annotated(name string, annotations func(options) map[string]string) trick {
	return trick{name: name, copies: 1, makes: func(o options, p place) workload {
		d := line.Deployment(p.namespace, p.name, annotations(o), line.FromConfigMap(stir))
		d.Labels = map[string]string{hangs: "true"}
		return workload{kind: "Deployment", object: d}
	}}
}

// one returns one annotation.
func one(key string, value func(options) string) func(options) map[string]string {
	return func(o options) map[string]string { return map[string]string{key: value(o)} }
}

// names returns a list of so many different names of four characters: 50,000 of them take 250,000 of the 262,144 bytes that
// Kubernetes lets all annotations of an object have.
func names(n int, format string) string {
	const digits = "abcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, string([]byte{digits[i%26], digits[i/26%26], digits[i/676%26], digits[i/17576%26]}))
	}
	return b.String() + stir
}

// repeated returns a list of so many items.
func repeated(n int, item string) string { return strings.Repeat(item+",", n) + stir }

func listTricks() []trick {
	const configMaps, secrets = "configmap.reloader.stakater.com/reload", "secret.reloader.stakater.com/reload"
	const own, ownSecrets = "reroll.dev/configmaps", "reroll.dev/secrets"
	return []trick{
		annotated("names-configmaps", one(configMaps, func(o options) string { return names(o.Names, "%s,") })),
		annotated("names-secrets", one(secrets, func(o options) string { return names(o.Names, "%s,") })),
		annotated("names-own", one(own, func(o options) string { return names(o.Names, "%s,") })),
		annotated("names-3000", one(configMaps, func(options) string { return names(3000, "a-name-of-some-length-"+"%s,") })),
		annotated("names-both", func(o options) map[string]string {
			return map[string]string{own: names(o.Names/3, "%s,"), ownSecrets: names(o.Names/3, "%s,")}
		}),
		annotated("glob-all", one(own, func(options) string { return "*" })),
		annotated("glob-crowd", one(ownSecrets, func(options) string { return "crowd-*,*-crowd" })),
		annotated("expression-all", one(configMaps, func(options) string { return ".*" })),
		annotated("selector-all", one("reroll.dev/configmap-selector", func(options) string { return "!absent" })),
		annotated("search-all", one("reloader.stakater.com/search", func(options) string { return "true" })),
		annotated("globs-thousands", one(own, func(o options) string { return names(o.Names/2, "%s*,") })),
		annotated("expressions-thousands", one(configMaps, func(o options) string { return names(o.Names/4, "%s.*,") })),
		annotated("expression-repeats", one(configMaps, func(options) string { return "((a{1000}){1000}){1000}," + stir })),
		annotated("expressions-complex", one(configMaps, func(options) string { return repeated(200, "([-a-z0-9]{200})+y") })),
		annotated("expressions-deep", one(configMaps, func(options) string { return repeated(50, strings.Repeat("(", 250)+"a"+strings.Repeat(")*", 200)) })),
		annotated("invalid-names", one(own, func(o options) string { return repeated(o.Names/3, "Not_A_Name") })),
		annotated("invalid-expressions", one(configMaps, func(o options) string { return repeated(o.Names/3, "([") })),
		annotated("other-namespaces", one(ownSecrets, func(o options) string {
			var b strings.Builder
			for i := range o.Ordinary {
				p := o.place(i)
				fmt.Fprintf(&b, "%s/%s,", p.namespace, p.name)
			}
			return b.String() + "kube-system/x," + stir
		})),
		annotated("other-clusters", one("reroll.dev/follow", func(o options) string { return repeated(o.Names/10, "east/shop/configmap/a") + "/x,west/shop/secret/b" })),
	}
}

func choiceTricks() []trick {
	auto := func(more map[string]string) map[string]string {
		more["reloader.stakater.com/auto"] = "true"
		return more
	}
	with := func(key string, value func(options) string) func(options) map[string]string {
		return func(o options) map[string]string { return auto(map[string]string{key: value(o)}) }
	}
	return []trick{
		annotated("annotations-unknown", func(options) map[string]string {
			unknown := map[string]string{}
			for i := range 2000 {
				unknown[fmt.Sprintf("reroll.dev/wrong-%d", i)] = "true"
			}
			return auto(unknown)
		}),
		annotated("choices-wrong", func(options) map[string]string {
			choices := maps.Clone(map[string]string{"reroll.dev/window": "forever", "reroll.dev/min-interval": "-1s"})
			choices["reroll.dev/maintenance-window"], choices["reroll.dev/strategy"] = "never", strings.Repeat("x", 100_000)
			return auto(choices)
		}),
		annotated("windows-thousands", with("reroll.dev/maintenance-window", func(o options) string {
			return strings.Repeat("0 3 * * 1-5 2h;", o.Names/5)
		})),
		annotated("keys-thousands", with("reroll.dev/keys", func(o options) string { return names(o.Names/2, "%s*,") })),
		annotated("requirements-thousands", with("reroll.dev/configmap-selector", func(o options) string {
			return strings.TrimSuffix(strings.Repeat("a=b,", o.Names/5), ",")
		})),
		annotated("exclude-thousands", with("reroll.dev/exclude", func(o options) string { return names(o.Names/2, "%s*,") })),
	}
}
