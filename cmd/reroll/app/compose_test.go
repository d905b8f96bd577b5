package app

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestComposeCommands: the processes of the Compose file are commands, with flags and values that they have.
func TestComposeCommands(t *testing.T) {
	text, err := os.ReadFile("../../../docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"ingest", "dispatch", "api"} {
		service := file.Services[role]
		cmd, args, err := Command("v1.2.3").Find(service.Command)
		if err != nil || cmd.Name() != role {
			t.Fatalf("service %s runs %q: %v", role, service.Command, err)
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("service %s: %v", role, err)
		}
	}
}
