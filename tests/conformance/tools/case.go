package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// Tool is a tool and the folder next to this package that has its cases.
type Tool struct {
	// Folder is also the name of its dialect.
	Folder, Title string
	// Repository and Commit are where its sources were read.
	Repository, Commit string
}

// Tools are all of them.
var Tools = []Tool{
	{"sap", "SAP pod-reloader", "SAP/pod-reloader", "a0b9bcc0"},
	{"wave", "Wave", "wave-k8s/wave", "b4e8d70c"},
	{"collaborne", "Collaborne kubernetes-reloader", "Collaborne/kubernetes-reloader", "9a93b396"},
	{"fabric8", "fabric8 configmapcontroller", "fabric8io/configmapcontroller", "3fc50a70"},
	{"trigger", "k8s-trigger-controller", "mfojtik/k8s-trigger-controller", "3ad65e90"},
}

// Case is one data file: what a tool does, what Reroll does, and a scenario that shows that.
type Case struct {
	scenario.Case
	Tool Tool `json:"-"`
	// Theirs is what the tool does, and Ours what Reroll does; Ours is empty if that is the same.
	Theirs string `json:"theirs"`
	Ours   string `json:"ours,omitempty"`
	// Why is the reason for a difference, and Old how to get the old behaviour, where that can be had.
	Why string `json:"why,omitempty"`
	Old string `json:"old,omitempty"`
	// Also is a Go test that shows what the scenario cannot: its file, from the root of the repository, and after a colon its name.
	Also string `json:"also,omitempty"`
}

// Cases returns all data files under a folder, by tool and name. The folder is that of the suites.
func Cases(folder string) ([]Case, error) {
	var all []Case
	for _, tool := range Tools {
		files, err := filepath.Glob(filepath.Join(folder, tool.Folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, errors.Join(err, fmt.Errorf("%s has no cases", tool.Folder))
		}
		slices.Sort(files)
		for _, file := range files {
			c, err := read(tool, file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func read(tool Tool, file string) (Case, error) {
	c := Case{Tool: tool}
	data, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, err
	}
	c.Name = tool.Folder + "-" + strings.TrimSuffix(filepath.Base(file), ".yaml")
	c.Reason = c.Theirs
	if c.Ours != "" {
		c.Reason = c.Ours
	}
	switch {
	case c.Theirs == "":
		return c, errors.New("nothing is said about the tool")
	case (c.Ours == "") != (c.Why == ""):
		return c, errors.New("a difference has a reason, and what is the same has none")
	}
	return c, errors.Join(c.Validate(), c.RollsSomething())
}
