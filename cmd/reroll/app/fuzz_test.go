package app

import (
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// FuzzConfig gives a role any file. It is refused, or all that it says is set: nothing is ignored.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "# none\n", "log-level: debug\n", "dry-run: true\nkube-qps: 1e3\n", "kube-burst: 2000000\n", "coalesce-window: 0\n",
		"log-level: a\nlog-level: b\n", "log-level: a\n---\nlog-level: b\n", "{}", "[]", "null", "a: &x {b: *x}\n", "? {a: b}\n: c\n",
		"nats-url: [a]\n", "log-level: on\n", "!!binary x: y\n", "<<: {log-level: debug}\n", "\ufefflog-level: debug\n",
		"namespaces: [a, b]\n", "namespaces: [\"a,b\", \"\\\"\", \"\"]\n", "namespaces: a,b\n", "namespaces: [1]\n", "reload-on-create: \"true\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parseConfig(data, "file")
		if err != nil {
			return
		}
		s, flags := &Settings{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		s.bind(flags, roleNamed(t, "serve"))
		if err := apply(flags, values, "file"); err != nil {
			return
		}
		set := map[string]string{}
		flags.Visit(func(flag *pflag.Flag) { set[flag.Name] = flag.Value.String() })
		if len(set) != len(values) {
			t.Errorf("%d of %d values are set: %v of %v", len(set), len(values), set, values)
		}
		written, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseConfig(written, "again"); err != nil || len(again) != len(values) {
			t.Errorf("what was read cannot be written and read again: %v %q", err, written)
		}
	})
}
