package scenario

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Scenario is one data file.
type Scenario struct {
	// Name is the file's name without its ending.
	Name string `json:"-"`
	// Reason is what the scenario shows, as a sentence.
	Reason   string   `json:"reason"`
	Settings Settings `json:"settings,omitzero"`
	// Given are the objects that exist before the first step. None of them rolls for being given.
	Given []Object `json:"given"`
	Steps []Step   `json:"steps"`
	// Marks are what templates carry after the last step.
	Marks []Mark `json:"marks,omitempty"`
}

// Settings are those of the installation.
type Settings struct {
	// Strategy is the default strategy; env-vars if empty.
	Strategy string `json:"strategy,omitempty"`
	// Window and MaxWait are the quiet window and its bound; both are zero, which is at once, if they are left out.
	Window  Duration `json:"window,omitempty"`
	MaxWait Duration `json:"maxWait,omitempty"`
	// DryRun decides and records, and writes nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// AutoReloadAll asks for every workload that says nothing.
	AutoReloadAll bool `json:"autoReloadAll,omitempty"`
}

// Duration is a time.Duration that is written as in Go, such as 300ms.
type Duration time.Duration

// UnmarshalJSON reads a string.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 || parsed > maxDuration {
		return fmt.Errorf("duration %q is not between 0 and %s", text, maxDuration)
	}
	*d = Duration(parsed)
	return nil
}

// Step is a number of writes, one right after the other, and what comes of them.
type Step struct {
	Do []Write `json:"do"`
	// Expect has the number of template changes that the writes cause for each workload, by its Ref. Workloads that are left out do
	// not change. Changes that the step itself writes into a template are not counted.
	Expect map[Ref]int `json:"expect,omitempty"`
	// Down says that Reroll does not run while the writes are made.
	Down bool `json:"down,omitempty"`
	// Kill says that Reroll is killed right after the writes, and started again.
	Kill bool `json:"kill,omitempty"`
	// See is what there is to see after it, besides template changes.
	See []Sight `json:"see,omitempty"`
}

// Write is one write: exactly one of Create, Update, Patch and Delete.
type Write struct {
	Create *Object `json:"create,omitempty"`
	// Update replaces the whole object.
	Update *Object `json:"update,omitempty"`
	// Patch names the object to patch, With is the patch, and As is its type; a merge patch if empty.
	Patch Ref             `json:"patch,omitempty"`
	As    PatchType       `json:"as,omitempty"`
	With  json.RawMessage `json:"with,omitempty"`
	// Status says that the patch is of the subresource status.
	Status bool `json:"status,omitempty"`
	Delete Ref  `json:"delete,omitempty"`
}

// PatchType is a word for a type of patch.
type PatchType string

// PatchTypes has the types of patch by their words.
var PatchTypes = map[PatchType]types.PatchType{
	"":          types.MergePatchType,
	"merge":     types.MergePatchType,
	"json":      types.JSONPatchType,
	"strategic": types.StrategicMergePatchType,
	"apply":     types.ApplyPatchType,
}

// Mark is what a pod template carries at the end.
type Mark struct {
	Workload Ref `json:"workload"`
	// Container and Env ask for the environment variables of one container, by name. A variable that is listed as "" is absent.
	Container string            `json:"container,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	// Annotations asks for annotations of the template. One that is listed as "" is absent. A value that is a JSON object asks for its
	// fields alone.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// difference says how the template differs from m; empty if it does not.
func (m Mark) difference(template *corev1.PodTemplateSpec) string {
	if m.Container != "" {
		env := map[string]string{}
		found := false
		for _, c := range template.Spec.Containers {
			if c.Name != m.Container {
				continue
			}
			found = true
			for _, e := range c.Env {
				env[e.Name] = e.Value
			}
		}
		if !found {
			return fmt.Sprintf("there is no container %q", m.Container)
		}
		for name, want := range m.Env {
			if got := env[name]; got != want {
				return fmt.Sprintf("variable %s of container %s is %q, want %q", name, m.Container, got, want)
			}
		}
	}
	for key, want := range m.Annotations {
		if got := template.Annotations[key]; !carries(got, want) {
			return fmt.Sprintf("annotation %s of the template is %q, want %q", key, got, want)
		}
	}
	return ""
}

func carries(got, want string) bool {
	var wanted, found map[string]any
	if json.Unmarshal([]byte(want), &wanted) != nil {
		return got == want
	}
	if json.Unmarshal([]byte(got), &found) != nil {
		return false
	}
	for field, value := range wanted {
		if fmt.Sprint(found[field]) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// Case is a scenario with the process that it needs.
type Case struct {
	Scenario
	// Flags and Env are those of reroll. In them, {name} is the real name of one of Namespaces.
	Flags []string `json:"flags,omitempty"`
	Env   []string `json:"env,omitempty"`
	// Namespaces have the labels of namespaces that exist before reroll starts.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	// Pods says that the case is about workloads whose pods run.
	Pods bool `json:"pods,omitempty"`
}

// Group names the reroll process that c needs: cases of the same name share one.
func (c Case) Group() string { return strings.Join(append(slices.Clone(c.Flags), c.Env...), " ") }

// Alone reports whether c stops reroll, so that no other case can run next to it.
func (c Case) Alone() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Down || s.Kill })
}

// StakaterHash is what Stakater Reloader marks a workload with for a content, whose entries are such as a=1.
func StakaterHash(entries ...string) string {
	sum := sha1.Sum([]byte(strings.Join(slices.Sorted(slices.Values(entries)), ";")))
	return hex.EncodeToString(sum[:])
}
