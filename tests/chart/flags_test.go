package chart_test

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

var flagInHelp = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([A-Za-z0-9-]+)`)

// flagsOf asks the real binary which flags a role has.
func flagsOf(t *testing.T, role string) map[string]bool {
	t.Helper()
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	help, err := output(exec.CommandContext(t.Context(), binary, role, "--help"))
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{}
	for _, m := range flagInHelp.FindAllStringSubmatch(help, -1) {
		flags[m[1]] = true
	}
	return flags
}

// TestFlagsAreTheBinarys compares the arguments that the chart passes with the help of the binary they start.
func TestFlagsAreTheBinarys(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for _, w := range workloads(t, decode(t, render(t, "--values", folder+"/values.yaml"))) {
				checkFlags(t, w.pod.Spec.Containers[0].Args)
			}
		})
	}
}

// notOffered are the flags that no value stands for.
var notOffered = map[string]string{
	"config":                         "the values are the configuration",
	"context":                        "the pod uses the cluster that it runs in",
	"help":                           "it starts nothing",
	"ingest-insecure-http":           "audit events cross the network",
	"kube-qps":                       "the default fits, and extraArgs can give another",
	"kube-burst":                     "the default fits, and extraArgs can give another",
	"enable-pprof":                   "it is for those who look into the process, and extraArgs can give it",
	"pprof-addr":                     "it is for those who look into the process, and extraArgs can give it",
	"ingest-tls-lifetime":            "the default fits",
	"admission-certificate-lifetime": "the default fits",
	"kubeconfig":                     "the pod uses the cluster that it runs in",
	"sync-after-restart":             "it has no effect",
}

// TestEveryFlagIsOffered looks in all rendered pods for each flag, or for the variable that stands for it.
func TestEveryFlagIsOffered(t *testing.T) {
	known := flagsOf(t, "serve")
	given := map[string]bool{}
	for _, folder := range valuesCases(t) {
		w := workloads(t, decode(t, render(t, "--values", folder+"/values.yaml")))[0]
		if w.role() != "serve" {
			continue
		}
		container := w.pod.Spec.Containers[0]
		for _, arg := range container.Args[1:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			given[name] = true
		}
		for _, variable := range container.Env {
			if name, ok := strings.CutPrefix(variable.Name, "REROLL_"); ok {
				given[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] = true
			}
		}
	}
	for name := range known {
		if given[name] == (notOffered[name] != "") {
			t.Errorf("flag --%s: given in some values is %t, left out on purpose because %q", name, given[name], notOffered[name])
		}
	}
}

// TestSettingsAreAccepted starts the real binary as the pod does. It gets as far as the files, of which this machine has none.
func TestSettingsAreAccepted(t *testing.T) {
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for _, w := range workloads(t, decode(t, render(t, "--values", folder+"/values.yaml"))) {
				container := w.pod.Spec.Containers[0]
				// Another process of this machine may have the port.
				args := append(container.Args, "--metrics-address=127.0.0.1:0")
				if w.role() == "serve" {
					args = append(args, "--data-dir="+t.TempDir())
				}
				cmd := exec.CommandContext(t.Context(), binary, args...)
				for _, v := range container.Env {
					cmd.Env = append(cmd.Env, v.Name+"="+cmp.Or(v.Value, stored[v.Name], "stored"))
				}
				_, err := output(cmd)
				if err == nil || !slices.ContainsFunc(ends[w.role()], func(end string) bool { return strings.Contains(err.Error(), end) }) {
					t.Errorf("%s does not get as far as its first file, or its cluster: %v", w.name, err)
				}
			}
		})
	}
}

// ends are how each role may end here: without its certificate, without what it logs in to NATS with, or, if it reads no file before that,
// without a cluster.
var ends = map[string][]string{
	"serve":     {"/etc/reroll/ingest-tls/tls.crt: no such file", "open /etc/reroll/nats/", "kubeconfig: none found, and this is no pod"},
	"ingest":    {"open /etc/reroll/nats/"},
	"dispatch":  {"open /etc/reroll/nats/"},
	"api":       {"open /etc/reroll/nats/"},
	"admission": {"/etc/reroll/admission-tls/tls.crt: no such file"},
}

// stored are the values of variables that come from Secrets.
var stored = map[string]string{
	"ALERT_WEBHOOK_PROXY": "http://proxy.example.com",
	"ALERT_WEBHOOK_URL":   "https://chat.example.com/hook",
	"REROLL_NATS_URL":     "nats://user:password@nats.example.com:4222",
	"REROLL_WEBHOOK_URL":  "https://hooks.example.com",
}

func checkFlags(t *testing.T, args []string) {
	t.Helper()
	if len(args) < 2 || !slices.Contains([]string{"serve", "ingest", "dispatch", "api", "admission"}, args[0]) {
		t.Fatalf("arguments start no role: %v", args)
	}
	known := flagsOf(t, args[0])
	for _, arg := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !known[name] {
			t.Errorf("%s has no flag --%s", args[0], name)
		}
	}
}
