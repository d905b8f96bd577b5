package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: what failed, flaked and was skipped is named with its cause and the command that repeats it, and makes the gate red but for a flake.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		events, want string
		ok           bool
	}{
		"passed": {`pass TestA`, "1 passed, 0 failed, 0 flaked, 0 skipped\n", true},
		"failed": {
			"output TestA/b c     a_test.go:7: wanted 1\nfail TestA/b c\nfail TestA\nfail ",
			"FAILED api.TestA/b c: a_test.go:7: wanted 1\n    go run ./tests/line/cmd/rig go test -count=1 -v -run '^TestA$/^b c$' ./api\n0 passed, 1 failed, 0 flaked, 0 skipped\n", false,
		},
		"not built": {"output  a.go:1:2: undefined: x\nbuild-fail ", "FAILED api: a.go:1:2: undefined: x\n    go run ./tests/line/cmd/rig go test -count=1 -v ./api\n0 passed, 1 failed, 0 flaked, 0 skipped\n", false},
		"flaked":    {"output TestA a_test.go:7: late\nfail TestA\nfail \npass TestA\npass \npass TestB", "FLAKED api.TestA: a_test.go:7: late\n1 passed, 0 failed, 1 flaked, 0 skipped\n", true},
		"skipped":   {"pass TestB\nskip TestA", "SKIPPED api.TestA: the gate skips nothing\n1 passed, 0 failed, 0 flaked, 1 skipped\n", false},
		"nothing":   {`pass `, "0 passed, 0 failed, 0 flaked, 0 skipped\n", false},
	} {
		var events strings.Builder
		for line := range strings.SplitSeq(c.events, "\n") {
			action, rest, _ := strings.Cut(line, " ")
			test, output := rest, ""
			if action == "output" {
				i := strings.Index(rest, " a") // the place in a file a….go
				test, output = strings.TrimSpace(rest[:i]), rest[i:]
			}
			events.WriteString(`{"Action":"` + action + `","Package":"` + module + `api","Test":"` + test + `","Output":"` + output + "\"}\n")
		}
		file := filepath.Join(t.TempDir(), "system.json")
		if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if ok, err := report(&out, []string{file}); err != nil || ok != c.ok || out.String() != c.want {
			t.Errorf("%s: ok %t, want %t (%v):\n%s\nwant\n%s", name, ok, c.ok, err, &out, c.want)
		}
	}
}
