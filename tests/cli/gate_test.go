package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// proposed is what a pull request would make of objects: one key of settings differs, account is new, and rates is as it is live.
const proposed = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: highest}
---
apiVersion: v1
kind: Secret
metadata: {name: account}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rates}
data: {tax: "7", debug: "0"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bundle}
`

// gate runs the commands of docs/recipes.md for pull requests, without a Reroll to ask, and then applies what they judged.
func (d *desk) gate() {
	d.t.Helper()
	d.apply(sleepers)
	d.kubectl("create", "configmap", "bundle", "-n", d.ns, "--from-literal=ca.crt=filled in by a controller")
	dir := d.t.TempDir()
	overlay := filepath.Join(dir, "overlays", "production")
	d.must(os.MkdirAll(overlay, 0o700))
	d.must(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte("resources: [settings.yaml]\n"), 0o600))
	d.must(os.WriteFile(filepath.Join(overlay, "settings.yaml"), []byte(proposed), 0o600))
	page, err := os.ReadFile("../../docs/recipes.md")
	d.must(err)
	recipes := strings.ReplaceAll(string(page), "shop", d.ns)
	commands := regexp.MustCompile(`kubectl kustomize .*`).FindAllString(recipes, -1)
	if len(commands) != 2 {
		d.t.Fatalf("the recipes have %q", commands)
	}
	want := []string{
		"| Config | Workload | Rolls | Why |", "|---|---|---|---|",
		"| `" + d.ns + "/ConfigMap/bundle` | - | never | unchanged |",
		"| `" + d.ns + "/ConfigMap/rates` | - | never | unchanged |",
		"| `" + d.ns + "/ConfigMap/settings [level]` | `" + d.ns + "/Deployment/web` | now | It would roll. |",
		"| `" + d.ns + "/Secret/account (new)` | - | never | no opted-in workload asks for it |",
	}
	for _, command := range commands {
		d.shell(dir, command)
		written, err := os.ReadFile(filepath.Join(dir, "impact.md"))
		d.must(err)
		if got := strings.Split(strings.TrimSpace(string(written)), "\n"); !slices.Equal(got, want) {
			d.t.Errorf("%s writes\n%s", command, written)
		}
		d.must(os.Remove(filepath.Join(dir, "impact.md")))
	}
	file := filepath.Join(overlay, "settings.yaml")
	d.reroll(1, "impact", "-f", file, "-n", d.ns, "--exit-code")
	d.apply(strings.NewReplacer("name: web", "name: plain", "app: web", "app: plain", "reloader.stakater.com/auto", "example.com/auto").Replace(objects))
	everything := d.reroll(0, "impact", "-f", file, "-n", d.ns, "-o", "name", "--set", "reload.autoAll=true")
	if want := d.ns + "/Deployment/plain\n" + d.ns + "/Deployment/web\n"; everything != want {
		d.t.Errorf("with reload.autoAll it says %q, want %q", everything, want)
	}
	d.preSync(dir, recipes, file)
	d.watch(func() { d.apply(proposed) })
	if said := d.reroll(0, "impact", "-f", file, "-n", d.ns, "--exit-code", "-o", "jsonpath={.items[*].change}"); said != "Unchanged Unchanged Unchanged Unchanged\n" {
		d.t.Errorf("what was applied is %s", said)
	}
}

// preSync runs the Job of the recipe for Argo CD with the rights that the recipe grants, and then without those to read Secrets.
func (d *desk) preSync(dir, recipes, file string) {
	d.t.Helper()
	_, block, _ := strings.Cut(recipes, "apiVersion: batch/v1\nkind: Job\n")
	block, _, _ = strings.Cut(block, "```")
	job, rights, _ := strings.Cut(block, "\n---\n")
	d.apply(rights)
	var of struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	d.must(yaml.Unmarshal([]byte(job), &of))
	args := of.Spec.Template.Spec.Containers[0].Args
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "/manifests/settings.yaml", file)
	}
	kubeconfig, err := d.line.Kube.UserKubeconfig("system:serviceaccount:"+d.ns+":impact", "system:serviceaccounts")
	d.must(err)
	command := "reroll " + strings.Join(args, " ") + " --kubeconfig " + kubeconfig
	if said, want := d.shell(dir, command+" --output=name"), d.ns+"/Deployment/web\n"; said != want {
		d.t.Errorf("the Job says %q, want %q", said, want)
	}
	d.kubectl("patch", "role", "impact", "-n", d.ns, "--type=json", "-p", `[{"op":"replace","path":"/rules/0/resources","value":["configmaps"]}]`)
	if said := d.shell(dir, command+" 2>&1"); !strings.Contains(said, "warning: you may not read "+d.ns+"/Secret/account") || strings.Contains(said, "hunter2") {
		d.t.Errorf("without the right to read Secrets it says:\n%s", said)
	}
}

// shell runs a command in a folder, where no Reroll can be asked, and returns what it prints.
func (d *desk) shell(dir, command string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.ctx, "sh", "-euc", command)
	cmd.Dir, cmd.Env = dir, append(d.environment(), "REROLL_SERVER=http://127.0.0.1:1", "PATH="+d.bin+":"+filepath.Dir(d.line.Kube.Command(d.ctx).Path)+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	d.must(err)
	return string(out)
}
