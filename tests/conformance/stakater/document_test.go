package stakater_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var testedCommand = regexp.MustCompile("(?ms)^```sh tested\n(.*?)\n```$")

// TestMigrationCommands runs the commands of the guide that are marked as tested, in their order, beside a Deployment that stands
// where Stakater Reloader's would.
func TestMigrationCommands(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrate-from-stakater.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := testedCommand.FindAllStringSubmatch(string(guide), -1)
	if len(commands) != 7 {
		t.Fatalf("%d commands are marked as tested, not 7", len(commands))
	}
	if output, err := shared.Kube.Kubectl(t.Context(), "apply", "--filename=testdata/theirs.yaml"); err != nil {
		t.Fatal(output, err)
	}
	p := withFlags(t, nil, "--dry-run")
	if log := shared.Reroll.Log(); !strings.Contains(log, "deployments reloader/reloader-reloader") {
		t.Error("reroll does not warn of the other reloader")
	}
	p.play(t, strings.ReplaceAll(oneEdit, "Deployment/web: 1", "Deployment/web: 0"))
	for _, command := range commands {
		output := runCommand(t, command[1])
		if strings.Contains(command[1], "/api/v1/") {
			expectItem(t, command[1], output)
		}
	}
	d, err := shared.Kube.Client().AppsV1().Deployments("reloader").Get(t.Context(), "reloader-reloader", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 1 {
		t.Errorf("in the end the other one has %v replicas, %v", d.Spec.Replicas, err)
	}
}

// runCommand runs a command of the guide in a shell, in which kubectl is the rig's.
func runCommand(t *testing.T, command string) string {
	t.Helper()
	kubectl := shared.Kube.Command(t.Context())
	shell := exec.CommandContext(t.Context(), "sh", "-euc", `kubectl() { "$KUBECTL" "$@"; }; `+command)
	shell.Env = append(kubectl.Env, "KUBECTL="+kubectl.Path, "API="+shared.Reroll.API, "OPS="+shared.Reroll.Ops)
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", command, err, output)
	}
	return string(output)
}

// expectItem checks that a listing shows the workload of the scenario.
func expectItem(t *testing.T, command, output string) {
	t.Helper()
	var page struct {
		Items []struct {
			Workload struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(output), &page); err != nil {
		t.Errorf("%s: %v: %s", command, err, output)
	}
	for _, item := range page.Items {
		if item.Workload.Name == "web" {
			return
		}
	}
	t.Errorf("%s does not show the workload: %s", command, output)
}
