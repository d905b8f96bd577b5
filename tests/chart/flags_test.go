package chart_test

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

var flagInHelp = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([A-Za-z0-9-]+)`)

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

// TestFlagsAreTheBinarys compares the arguments that the chart passes with the help of the binary they start.
func TestFlagsAreTheBinarys(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			checkFlags(t, statefulSet(t, objects).Spec.Template.Spec.Containers[0].Args)
		})
	}
}

// notOffered are the flags that no value stands for.
var notOffered = map[string]string{
	"config":               "the values are the configuration",
	"context":              "the pod uses the cluster that it runs in",
	"help":                 "it starts nothing",
	"ingest-insecure-http": "audit events cross the network",
	"audit-log-path":       "the log lies on the machine of the API server",
	"audit-log-state":      "it goes with audit-log-path",
	"audit-log-cluster":    "it goes with audit-log-path",
	"nats-token-file":      "a user or an nkey tells who it is, and a token only that it may",
	"api-tls-cert":         "in a cluster it is for what stands before the API to encrypt",
	"api-tls-key":          "it goes with api-tls-cert",
	"auth-client-ca":       "certificates of clients need api-tls-cert",

	"auth-request-header-client-ca":     "certificates of proxies need api-tls-cert",
	"auth-request-header-allowed-names": "it goes with auth-request-header-client-ca",

	"kubeconfig":     "the pod uses the cluster that it runs in",
	"hub-token-file": "a user or an nkey tells who it is, and a token only that it may",
}

// TestEveryFlagIsOffered looks in all rendered pods for each flag, or for the variable that stands for it.
func TestEveryFlagIsOffered(t *testing.T) {
	known, err := serveFlags()
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, folder := range valuesCases(t) {
		container := statefulSet(t, decode(t, render(t, "--values", folder+"/values.yaml"))).Spec.Template.Spec.Containers[0]
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
			container := statefulSet(t, decode(t, render(t, "--values", folder+"/values.yaml"))).Spec.Template.Spec.Containers[0]
			cmd := exec.CommandContext(t.Context(), binary, container.Args...)
			for _, v := range container.Env {
				cmd.Env = append(cmd.Env, v.Name+"="+cmp.Or(v.Value, stored[v.Name], "stored"))
			}
			if _, err := output(cmd); err == nil || !strings.Contains(err.Error(), "/etc/reroll/ingest-tls/tls.crt: no such file") {
				t.Errorf("it does not get as far as its certificate: %v", err)
			}
		})
	}
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
