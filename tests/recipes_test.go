package tests

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// yamlFence is a block of YAML in a document.
var yamlFence = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestRecipesAreUnderstood parses each manifest of docs/recipes.md and docs/hot-reload.md: what it says to Reroll is known, and Reroll has no complaint
// about a workload.
func TestRecipesAreUnderstood(t *testing.T) {
	page := read(t, "../docs/recipes.md") + read(t, "../docs/hot-reload.md")
	keys, workloads := annotationKeys(t), 0
	for _, block := range yamlFence.FindAllStringSubmatch(page, -1) {
		n, complaints := judgeManifests(block[1], keys)
		workloads += n
		for _, complaint := range complaints {
			t.Errorf("%s in:\n%s", complaint, block[1])
		}
	}
	if workloads < 6 {
		t.Errorf("only %d workloads were found", workloads)
	}
}

// TestProgramsAreUnderstood compiles what docs/hot-reload.md has for each program.
func TestProgramsAreUnderstood(t *testing.T) {
	page := read(t, "../docs/hot-reload.md")
	kind, _ := workload.KindNamed("Deployment")
	code := regexp.MustCompile("`([^`]+)`")
	strategy, programs := "", 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			_, strategy, _ = strings.Cut(strings.Trim(line, "`\n"), "reroll.dev/strategy: ")
		}
		cells := strings.Split(line, "|")
		if strategy == "" || len(cells) < 4 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| program |") {
			continue
		}
		programs++
		first := strings.Trim(cells[2], " `")
		annotations := map[string]any{"reroll.dev/auto": "true", "reroll.dev/strategy": strategy}
		switch strategy {
		case dialect.HTTP:
			annotations["reroll.dev/http-reload"] = first
			if metric := code.FindAllStringSubmatch(cells[3]+" `/metrics`", -1); len(metric) > 1 {
				_, port, _ := strings.Cut(first, " ")
				port, _, _ = strings.Cut(port, "/")
				annotations["reroll.dev/http-verify"] = "GET " + port + metric[1][1] + " " + metric[0][1]
			}
		case dialect.Exec:
			annotations["reroll.dev/exec-reload"] = first
		}
		w, err := understood(kind, map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop", "annotations": annotations},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web"}}}}},
		})
		must(t, err)
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		if plan.Chosen.Hot == nil || plan.Chosen.Hot.Strategy != strategy || len(plan.Problems) > 0 {
			t.Errorf("%s with %v: %v", cells[1], annotations, plan.Problems)
		}
	}
	if programs != 20 {
		t.Errorf("%d programs", programs)
	}
}

// judgeManifests returns how many whole workloads that opt in there are among documents of YAML, and what is wrong with all of these.
func judgeManifests(text string, keys []string) (workloads int, complaints []string) {
	documents := yaml.NewDecoder(strings.NewReader(text))
	for {
		var manifest map[string]any
		err := documents.Decode(&manifest)
		if errors.Is(err, io.EOF) {
			return workloads, complaints
		}
		if err != nil {
			return workloads, append(complaints, err.Error())
		}
		complaints = append(complaints, unknownAnnotations(manifest, keys)...)
		kind, known := workload.KindNamed(fmt.Sprint(manifest["kind"]))
		if !known {
			continue
		}
		w, err := understood(kind, manifest)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		if object, _ := manifest["metadata"].(map[string]any); strings.Contains(fmt.Sprint(object["annotations"]), "argocd.argoproj.io/hook:") {
			continue // it runs once per sync, and nothing is to roll it
		}
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		switch {
		case !plan.OptedIn():
			complaints = append(complaints, w.Name+" does not opt in")
		case len(plan.Names) == 0:
			complaints = append(complaints, w.Name+" asks for nothing")
		}
		workloads++
		complaints = append(complaints, plan.Problems...)
	}
}

// understood reads a workload as the product does.
func understood(kind workload.Kind, manifest map[string]any) (*workload.Workload, error) {
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return kind.Strip(object, func(string) bool { return true })
}

// unknownAnnotations returns a complaint for each annotation anywhere in a manifest that is said to Reroll, and that it does not know.
func unknownAnnotations(value any, keys []string) (complaints []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			complaints = append(complaints, unknownAnnotations(item, keys)...)
		}
	case map[string]any:
		for key, item := range value {
			complaints = append(complaints, unknownAnnotations(item, keys)...)
			if key != "annotations" {
				continue
			}
			annotations, _ := item.(map[string]any)
			for annotation := range annotations {
				if (strings.HasPrefix(annotation, dialect.OwnPrefix) || strings.Contains(annotation, "reloader.stakater.com/")) && !slices.Contains(keys, annotation) {
					complaints = append(complaints, annotation+" is unknown")
				}
			}
		}
	}
	return complaints
}

// ownKey is an annotation of Reroll itself in the sources.
var ownKey = regexp.MustCompile(`(?:OwnPrefix \+ "|"reroll\.dev/)([a-z-]+)"`)

// noAnnotations have Reroll's prefix and are no annotations of workloads or configs: the reporter of Events, a word in a hash, a label and a type of Secrets, a part of streams,
// what the ConfigMaps of the ledger have, and what the Service of ingest has.
var noAnnotations = []string{"reroll.dev/cluster", "reroll.dev/dispatcher", "reroll.dev/generation", "reroll.dev/key-id", "reroll.dev/job", "reroll.dev/job-manifest", "reroll.dev/ledger", "reroll.dev/namespace", "reroll.dev/was-named"}

// TestAnnotationsAreDocumented: docs/annotations.md has every key that a dialect reads or writes.
func TestAnnotationsAreDocumented(t *testing.T) {
	page := read(t, "../docs/annotations.md")
	for _, key := range annotationKeys(t) {
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("docs/annotations.md does not have %s", key)
		}
	}
}

// annotationKeys returns the keys that the dialects and the sources know.
func annotationKeys(t *testing.T) (keys []string) {
	t.Helper()
	for _, d := range dialect.All(dialect.StakaterOptions{}) {
		for _, c := range d.Clauses {
			keys = append(keys, c.Key)
		}
		keys = append(keys, d.Writes...)
		for _, c := range d.Choices {
			keys = append(keys, c.Key)
		}
	}
	grep := exec.CommandContext(t.Context(), "git", "grep", "-hE", "--untracked", `(OwnPrefix \+ "|"reroll\.dev/)`, "--", "reloader/*.go", "dispatcher/*.go", "admission/*.go", ":!*_test.go")
	grep.Dir = ".."
	out, err := grep.Output()
	must(t, err)
	for _, m := range ownKey.FindAllStringSubmatch(string(out), -1) {
		keys = append(keys, dialect.OwnPrefix+m[1])
	}
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "" || slices.Contains(noAnnotations, key) })
}
