package newcomer

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// kept is a config that a pull request leaves as it is, and bundle one that a controller fills in.
const (
	kept   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rates}\ndata: {tax: \"7\"}\n---\n"
	bundle = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bundle}\n"
)

// proposed is what a pull request would make: one key of app differs, account is new, and rates and bundle are as they are live.
const proposed = `apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {level: highest}
---
apiVersion: v1
kind: Secret
metadata: {name: account}
stringData: {password: hunter2}
---
` + kept + bundle

// recipes runs the commands of docs/recipes.md for pull requests, without a Reroll to ask.
func (d *desk) recipes() {
	d.t.Helper()
	namespace := d.line.Kube.Namespace(d.t)
	d.apply(namespace, app+kept+bundle+"data: {ca.crt: filled in by a controller}\n---\n"+deployment(auto, fromApp))
	dir := d.t.TempDir()
	overlay := filepath.Join(dir, "overlays", "production")
	d.must(os.MkdirAll(overlay, 0o700))
	file := filepath.Join(overlay, "settings.yaml")
	d.must(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte("resources: [settings.yaml]\n"), 0o600))
	d.must(os.WriteFile(file, []byte(proposed), 0o600))
	alone := func(command string) string {
		d.t.Helper()
		said, err := d.shell(namespace, "cd "+dir+"\nexport REROLL_SERVER=http://127.0.0.1:1\n"+command)
		d.must(err)
		return said
	}
	page, err := os.ReadFile("../../docs/recipes.md")
	d.must(err)
	text := strings.ReplaceAll(string(page), "shop", namespace)
	commands := regexp.MustCompile(`kubectl kustomize .*`).FindAllString(text, -1)
	if len(commands) != 2 || commands[0] != commands[1] {
		d.t.Fatalf("the recipes have %q", commands)
	}
	want := []string{
		"| Config | Workload | Rolls | Why |", "|---|---|---|---|",
		"| `" + namespace + "/ConfigMap/app [level]` | `" + namespace + "/Deployment/web` | now | It would roll. |",
		"| `" + namespace + "/ConfigMap/bundle` | - | never | unchanged |",
		"| `" + namespace + "/ConfigMap/rates` | - | never | unchanged |",
		"| `" + namespace + "/Secret/account (new)` | - | never | no opted-in workload asks for it |",
	}
	alone(commands[0])
	written, err := os.ReadFile(filepath.Join(dir, "impact.md"))
	d.must(err)
	if got := strings.Split(strings.TrimSpace(string(written)), "\n"); !slices.Equal(got, want) {
		d.t.Errorf("%s writes\n%s", commands[0], written)
	}
	if said := alone("reroll impact -f " + file + " -n $NAMESPACE --exit-code || echo code $?"); !strings.HasSuffix(said, "\ncode 1\n") {
		d.t.Errorf("a change that rolls ends with\n%s", said)
	}

	// The Job of the recipe for Argo CD has the rights that the recipe grants, and then none to read Secrets.
	_, block, _ := strings.Cut(text, "apiVersion: batch/v1\nkind: Job\n")
	block, _, _ = strings.Cut(block, "```")
	job, rights, _ := strings.Cut(block, "\n---\n")
	d.apply(namespace, rights)
	var of struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	d.must(yaml.Unmarshal([]byte(job), &of))
	kubeconfig, err := d.line.Kube.UserKubeconfig("system:serviceaccount:"+namespace+":impact", "system:serviceaccounts")
	d.must(err)
	args := strings.Join(of.Spec.Template.Spec.Containers[0].Args, " ")
	command := "reroll " + strings.ReplaceAll(args, "/manifests/settings.yaml", file) + " --kubeconfig " + kubeconfig
	if said, want := alone(command+" --output=name"), namespace+"/Deployment/web\n"; said != want {
		d.t.Errorf("the Job says %q, want %q", said, want)
	}
	alone(`kubectl -n $NAMESPACE patch role impact --type=json -p '[{"op":"replace","path":"/rules/0/resources","value":["configmaps"]}]'`)
	if said := alone(command); !strings.Contains(said, "warning: you may not read "+namespace+"/Secret/account") || strings.Contains(said, "hunter2") {
		d.t.Errorf("without the right to read Secrets it says:\n%s", said)
	}

	d.apply(namespace, proposed)
	if said := alone("reroll impact -f " + file + " -n $NAMESPACE --exit-code -o jsonpath='{.items[*].change}'"); said != "Unchanged Unchanged Unchanged Unchanged\n" {
		d.t.Errorf("what was applied is %s", said)
	}
}

// plugin calls reroll as kubectl does, in a namespace with a Deployment web that uses app, and before an installation.
func (d *desk) plugin(namespace string) {
	d.t.Helper()
	for command, want := range map[string]string{
		"kubectl reroll get workloads -n $NAMESPACE --for-config cm/app -o name": namespace + "/Deployment/web\n",
		"kubectl __complete reroll explain -n $NAMESPACE Dep":                    "Deployment/web\n",
		"kubectl reroll explain --help":                                          "kubectl reroll explain",
		"reroll check --pre --reroll-namespace fresh":                            "✓ rights: you may create what the chart installs",
	} {
		if said, err := d.shell(namespace, command); err != nil || !strings.Contains("\n"+said, want) {
			d.t.Errorf("%s says %q: %v", command, said, err)
		}
	}
}
