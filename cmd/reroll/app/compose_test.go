package app

import (
	"os"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
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
	for _, component := range []string{"ingest", "dispatch", "api"} {
		service := file.Services[component]
		var flags config.Flags
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		flags.Bind(set)
		if err := set.Parse(service.Command); err != nil {
			t.Fatal(err)
		}
		s, err := flags.Load()
		if err != nil || set.Arg(0) != "serve" || !slices.Equal(s.Components, []string{component}) {
			t.Fatalf("service %s runs %q: %v", component, service.Command, err)
		}
	}
}
