// Command compose reads a Compose file by the Compose specification's own loader and prints the resulting project as JSON.
// It fails on unknown keys, on values of the wrong type and on references to services, volumes or configs that are not there.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compose FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	project, err := load(file)
	if err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(project)
}

// load activates every profile: a service that no test loads could rot unseen.
func load(file string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithProfiles([]string{"*"}), cli.WithName("reroll"))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}
