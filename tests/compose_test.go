package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/reroll-dev/reroll/tests/tools"
)

// TestComposeFile reads docker-compose.yaml by Compose's own loader, which refuses unknown keys and references to what is not there. The images
// have exact versions, and no port is open to other machines: the API has no authentication. cmd/reroll/app looks up the flags.
func TestComposeFile(t *testing.T) {
	loader, err := tools.Path(t.Context(), "compose")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), loader, "../docker-compose.yaml")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	var project struct {
		Services map[string]struct {
			Image string
			Ports []struct {
				HostIP string `json:"host_ip"`
			}
		}
	}
	must(t, json.Unmarshal(out, &project))
	exact := regexp.MustCompile(`:v?[0-9]+\.[0-9]+\.[0-9]+(-k3s[0-9]+)?$`)
	for name, service := range project.Services {
		if !exact.MatchString(service.Image) {
			t.Errorf("service %s: image %q has no exact version", name, service.Image)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("service %s publishes a port on %q", name, port.HostIP)
			}
		}
	}
	if len(project.Services) != 5 {
		t.Errorf("%d services", len(project.Services))
	}
}
