package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: what failed, flaked and was skipped is named with its cause and the command that repeats it.
func TestReport(t *testing.T) {
	const module = "github.com/reroll-dev/reroll/"
	for name, c := range map[string]struct {
		events string
		ok     bool
		want   []string
		never  []string
	}{
		"all well": {
			events: `{"Action":"pass","Package":"` + module + `api","Test":"TestA"}
{"Action":"pass","Package":"` + module + `api"}`,
			ok: true, want: []string{"1 passed, 0 failed, 0 flaked, 0 skipped"},
		},
		"a failed subtest stands for its parent and its package": {
			events: `{"Action":"output","Package":"` + module + `api","Test":"TestA/b c","Output":"    a_test.go:7: wanted 1\n"}
{"Action":"fail","Package":"` + module + `api","Test":"TestA/b c"}
{"Action":"fail","Package":"` + module + `api","Test":"TestA"}
{"Action":"fail","Package":"` + module + `api"}`,
			want:  []string{"FAILED api.TestA/b c: a_test.go:7: wanted 1", "go run ./tests/line/cmd/rig go test -count=1 -v -run '^TestA$/^b c$' ./api", "0 passed, 1 failed"},
			never: []string{"FAILED api.TestA:", "FAILED api:"},
		},
		"a package that does not build": {
			events: `{"Action":"build-output","ImportPath":"` + module + `api","Output":"api/a.go:1:2: undefined: x\n"}
{"Action":"build-fail","ImportPath":"` + module + `api"}`,
			want: []string{"FAILED api: api/a.go:1:2: undefined: x", "1 failed"},
		},
		"tried again": {
			events: `{"Action":"output","Package":"` + module + `api","Test":"TestA","Output":"    a_test.go:7: too late\n"}
{"Action":"fail","Package":"` + module + `api","Test":"TestA"}
{"Action":"fail","Package":"` + module + `api"}
{"Action":"pass","Package":"` + module + `api","Test":"TestA"}
{"Action":"pass","Package":"` + module + `api"}`,
			ok: true, want: []string{"FLAKED api.TestA: a_test.go:7: too late", "0 failed, 1 flaked"}, never: []string{"FAILED"},
		},
		"a skip that is listed, and one that is not": {
			events: `{"Action":"skip","Package":"` + module + `api","Test":"TestListed"}
{"Action":"skip","Package":"` + module + `api","Test":"TestSilent"}`,
			want: []string{"SKIPPED api.TestSilent", "2 skipped"}, never: []string{"SKIPPED api.TestListed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			results, skips := filepath.Join(dir, "system.json"), filepath.Join(dir, "skips.txt")
			for file, content := range map[string]string{results: c.events + "\n", skips: "api.TestListed # it needs root\n"} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			allowed, err := readSkips(skips)
			if err != nil {
				t.Fatal(err)
			}
			all := newOutcomes()
			if err := all.read(results); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if ok := all.print(&out, allowed); ok != c.ok {
				t.Errorf("ok = %t, want %t", ok, c.ok)
			}
			for _, text := range c.want {
				if !strings.Contains(out.String(), text) {
					t.Errorf("the summary lacks %q:\n%s", text, &out)
				}
			}
			for _, text := range c.never {
				if strings.Contains(out.String(), text) {
					t.Errorf("the summary has %q:\n%s", text, &out)
				}
			}
		})
	}
}
