package stakater

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

//go:embed scenarios/*.yaml operations.yaml
var files embed.FS

// Head is what a case says about the two tools.
type Head struct {
	// Section is the section of the page that the case belongs to; see Sections.
	Section string `json:"section"`
	// Theirs is what Stakater Reloader v1 does, and Ours what Reroll does; Ours is empty if that is the same.
	Theirs string `json:"theirs"`
	Ours   string `json:"ours,omitempty"`
	// Verdict is Kept or Fixed.
	Verdict string `json:"verdict"`
	// Why is the reason for a difference.
	Why string `json:"why,omitempty"`
	// Old is how to get the old behaviour, where somebody may rely on it.
	Old string `json:"old,omitempty"`
}

// The verdicts.
const (
	Kept  = "kept"
	Fixed = "fixed"
)

// Case is one data file.
type Case struct {
	Head
	scenario.Scenario
	// Flags and Env are those of reroll. In them, {name} is the real name of one of Namespaces.
	Flags []string `json:"flags,omitempty"`
	Env   []string `json:"env,omitempty"`
	// Namespaces have the labels of namespaces that exist before reroll starts.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	Probe      world.Probe                  `json:"probe,omitzero"`
}

// Shown is a case that a Go test shows.
type Shown struct {
	Head
	// Test is the name of the test.
	Test string `json:"test"`
}

// Cases returns all data files, by their names.
func Cases() ([]Case, error) {
	names, err := fs.Glob(files, "scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	cases := make([]Case, 0, len(names))
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c, err := parse(strings.TrimSuffix(path.Base(name), ".yaml"), data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func parse(name string, data []byte) (Case, error) {
	var c Case
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, err
	}
	c.Name, c.Reason = name, c.Head.sentence()
	if err := c.Head.validate(); err != nil {
		return c, err
	}
	return c, errors.Join(c.Validate(), c.RollsSomething())
}

// Operations returns the cases that Go tests show, as they stand in the file.
func Operations() ([]Shown, error) {
	data, err := files.ReadFile("operations.yaml")
	if err != nil {
		return nil, err
	}
	var all []Shown
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		return nil, fmt.Errorf("operations.yaml: %w", err)
	}
	for _, s := range all {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("operations.yaml: %s: %w", s.Test, err)
		}
	}
	return all, nil
}

// sentence is what the case shows.
func (h Head) sentence() string {
	if h.Ours != "" {
		return h.Ours
	}
	return h.Theirs
}

func (h Head) validate() error {
	switch {
	case !slices.ContainsFunc(Sections, func(s Section) bool { return s.Number == h.Section }):
		return fmt.Errorf("there is no section %q", h.Section)
	case h.Theirs == "":
		return errors.New("nothing is said about theirs")
	case h.Verdict == Kept && h.Old == "" && h.Why == "":
		return nil
	case h.Verdict == Kept:
		return errors.New("what is kept needs no reason, and there is no other behaviour to get")
	case h.Verdict != Fixed:
		return fmt.Errorf("verdict %q is neither %s nor %s", h.Verdict, Kept, Fixed)
	case h.Ours == "" || h.Why == "":
		return errors.New("what is fixed needs ours and why")
	}
	return nil
}

// Group names the reroll process that c needs: cases of the same name share one.
func (c Case) Group() string { return strings.Join(append(slices.Clone(c.Flags), c.Env...), " ") }

// Alone reports whether c stops reroll, so that no other case can run beside it.
func (c Case) Alone() bool {
	return slices.ContainsFunc(c.Steps, func(s scenario.Step) bool { return s.Down })
}

// Section is a section of the table, with where in the sources of Stakater Reloader its rows were read.
type Section struct {
	Number, Title string
	Sources       []Source
}

// Source is a file of Stakater Reloader, from the root of its repository, and a function in it, or none if it is the file as a whole.
type Source struct{ Path, Function string }

// Where the sources were read: the repository and the commit, the head of master on 2026-08-10.
const (
	Repository = "https://github.com/stakater/Reloader"
	Commit     = "655a2b3814baadb69d3d1e105242d6cc8875d7cb"
)

// Sections are those of the table, in order. No file was noted for the rows of one without sources.
var Sections = []Section{
	{"1", "Flags and environment", []Source{{"internal/pkg/util/util.go", "ConfigureReloaderFlags"}, {"internal/pkg/options/flags.go", ""}, {"internal/pkg/cmd/reloader.go", "resolveWatchNamespaces"}}},
	{"2.1", "Annotations on workloads", []Source{{"pkg/common/common.go", "ShouldReload"}, {"internal/pkg/options/flags.go", ""}}},
	{"2.2", "Annotations on ConfigMaps, Secrets and SecretProviderClasses", []Source{{"pkg/common/common.go", "ShouldReload"}, {"internal/pkg/options/flags.go", ""}}},
	{"2.3", "Order of decision", []Source{{"pkg/common/common.go", "ShouldReload"}}},
	{"2.4", "Creation, deletion and scope", []Source{{"internal/pkg/handler/update.go", ""}, {"internal/pkg/controller/controller.go", ""}, {"internal/pkg/cmd/reloader.go", "resolveWatchNamespaces"}}},
	{"3.1", "Hash", []Source{{"internal/pkg/util/util.go", ""}, {"internal/pkg/crypto/sha.go", ""}}},
	{"3.2", "Strategy env-vars", []Source{{"internal/pkg/handler/upgrade.go", ""}}},
	{Number: "3.3", Title: "Strategy annotations"},
	{"3.4", "Kinds of workload", []Source{{"internal/pkg/handler/upgrade.go", "doRollingUpgrade"}, {"internal/pkg/callbacks/rolling_upgrade.go", ""}}},
	{Number: "3.5", Title: "Retries"},
	{"3.6", "Pause", []Source{{"internal/pkg/handler/pause_deployment.go", ""}}},
	{Number: "3.7", Title: "OpenShift DeploymentConfig"},
	{Number: "3.8", Title: "Queueing"},
	{"4", "References in a pod template", []Source{{"internal/pkg/handler/upgrade.go", "getVolumeMountName"}, {"internal/pkg/handler/upgrade.go", "getContainerWithVolumeMount"}, {"internal/pkg/handler/upgrade.go", "getContainerWithEnvReference"}}},
	{"5.1", "Metrics", []Source{{"internal/pkg/metrics/prometheus.go", ""}}},
	{"5.2", "Alerts", []Source{{"internal/pkg/alerts/alert.go", ""}}},
	{Number: "5.3", Title: "Webhook"},
	{"5.4", "High availability", []Source{{"internal/pkg/leadership/leadership.go", ""}}},
	{Number: "5.5", Title: "Kubernetes Events"},
	{Number: "5.6", Title: "Health, profiles and meta-info"},
	{Number: "6", Title: "Moving and going back"},
}

// place orders cases by section.
func (h Head) place() string {
	i := slices.IndexFunc(Sections, func(s Section) bool { return s.Number == h.Section })
	return strconv.Itoa(100 + i)
}
