package chart_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var flagInHelp = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([a-z0-9-]+)`)

// serveFlags asks the real binary which flags it has.
var serveFlags = sync.OnceValues(func() (map[string]bool, error) {
	cmd := exec.Command("go", "run", "./cmd/reroll", "serve", "--help")
	cmd.Dir = root
	help, err := output(cmd)
	if err != nil {
		return nil, err
	}
	flags := map[string]bool{}
	for _, m := range flagInHelp.FindAllStringSubmatch(help, -1) {
		flags[m[1]] = true
	}
	return flags, nil
})

// TestFlagsAreTheBinarys compares the arguments that chart and Compose file pass with the help of the binary they start.
func TestFlagsAreTheBinarys(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			checkFlags(t, statefulSet(t, objects).Spec.Template.Spec.Containers[0].Args)
		})
	}
	t.Run("compose", func(t *testing.T) {
		checkFlags(t, compose(t).Services["reroll"].Command)
	})
}

func checkFlags(t *testing.T, args []string) {
	t.Helper()
	known, err := serveFlags()
	if err != nil {
		t.Fatal(err)
	}
	if len(args) < 2 || args[0] != "serve" {
		t.Fatalf("arguments do not start the one-process shape: %v", args)
	}
	for _, arg := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !known[name] {
			t.Errorf("the binary has no flag --%s", name)
		}
	}
}
