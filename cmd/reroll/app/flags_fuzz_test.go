package app

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// FuzzFlags gives a role any command line, one argument a line. It is refused in few words, or a file with the same settings is accepted
// and means the same, and what cannot be is not.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{
		"", "--dry-run", "--kube-qps=1e3\n--kube-burst\n5", "--coalesce-window=2m", "--coalesce-window=-1s", "--coalesce-window=9223372036854775807ns",
		"--maintenance-windows=CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h; 0 12 * * * 1h", "--maintenance-windows=;", "--log-level=LOUD", "--cluster-name=A.b",
		"--reloads-per-minute=-1", "--reloads-per-minute=9223372036854775807", "--reload-strategy=none", "--nats-url=nats://u:p@x", "--namespaces=a,\"b,c\"",
		"--sweep-interval=1ns", "--", "-", "--=", "--no-such-flag=1", "--resource-label-selector=a in (b,c),!d", "--resource-label-selector=((",
		"--namespace-selector=a=b\n--namespaces-to-ignore=x", "--resources-to-ignore=secrets", "--source=watch",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, flags := &Settings{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		r := roleNamed(t, "serve")
		s.bind(flags, r)
		flags.Usage = func() {}
		err := flags.Parse(strings.Split(text, "\n"))
		if err == nil && flags.Lookup("config").Changed {
			return // files are fuzzed by themselves
		}
		values := valuesOf(flags)
		if err == nil {
			err = s.complete(flags, r)
		}
		if err != nil {
			if len(err.Error()) > 4096+4*len(text) {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		if s.CoalesceMaxWait < s.CoalesceWindow || s.CoalesceWindow < 0 || s.Brakes.PerMinute < 0 || s.Brakes.MinInterval < 0 || s.KubeQPS <= 0 {
			t.Errorf("%q is accepted as %+v", text, s)
		}
		want := allOf(flags)
		again, flags := &Settings{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		again.bind(flags, r)
		if err := apply(flags, values, "file"); err != nil {
			t.Fatalf("%v is refused in a file: %v", values, err)
		}
		if err := again.complete(flags, r); err != nil || !maps.Equal(allOf(flags), want) {
			t.Errorf("in a file it means something else (-want +got), %v:\n%s", err, cmp.Diff(want, allOf(flags)))
		}
	})
}

// allOf returns the values of all flags.
func allOf(flags *pflag.FlagSet) map[string]string {
	values := map[string]string{}
	flags.VisitAll(func(flag *pflag.Flag) { values[flag.Name] = flag.Value.String() })
	return values
}

// valuesOf returns what a file says that sets the flags that are set.
func valuesOf(flags *pflag.FlagSet) map[string]any {
	values := map[string]any{}
	flags.Visit(func(flag *pflag.Flag) {
		values[flag.Name] = flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			items := []any{}
			for _, item := range list.GetSlice() {
				items = append(items, item)
			}
			values[flag.Name] = items
		}
	})
	return values
}
