package chart_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const (
	root      = "../.."
	chart     = root + "/helm/reroll"
	release   = "example"
	namespace = "reroll-system"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var toolPaths sync.Map

// tool runs one of the repository's pinned tools and returns what it prints; the error carries its standard error.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	build, _ := toolPaths.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		return tools.Path(t.Context(), name)
	}))
	path, err := build.(func() (string, error))()
	line.Must(t, err)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return stdout.String(), err
}

// render returns what helm template makes of the chart.
func render(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{"template", release, chart, "--namespace", namespace}, args...)...)
	line.Must(t, err)
	return out
}

// valuesCases names the folders of testdata: each holds values.yaml and the golden rendered.yaml.
func valuesCases(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/*/values.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no values in testdata: %v", err)
	}
	for i, f := range folders {
		folders[i] = filepath.Dir(f)
	}
	return folders
}

func TestLint(t *testing.T) {
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			if out, err := tool(t, "helm", "lint", "--strict", chart, "--values", folder+"/values.yaml"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestRenderedIsGolden(t *testing.T) {
	for _, values := range []string{"default", "full", "split", "hub"} {
		t.Run(values, func(t *testing.T) {
			folder := filepath.Join("testdata", values)
			compareGolden(t, folder+"/rendered.yaml", render(t, "--values", folder+"/values.yaml"))
		})
	}
}

// compareGolden compares a text with a file, or writes the file.
func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		line.Must(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	line.Must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-golden +now; go test ./tests/chart -update accepts it):\n%s", diff)
	}
}

// decode returns the objects of a YAML stream and fails the test on a field or a kind that Kubernetes does not know.
func decode(t *testing.T, stream string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	var objects []runtime.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		line.Must(t, err)
		object, _, err := decoder.Decode(document, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			object, err = decodeCustom(document, err)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, object)
	}
}

// operators are the groups whose kinds are not Kubernetes's own.
var operators = []string{"cert-manager.io", "monitoring.coreos.com"}

// decodeCustom decodes an object of these groups, and returns unknown for one of another.
func decodeCustom(document []byte, unknown error) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	if err := sigsyaml.UnmarshalStrict(document, &object.Object); err != nil {
		return nil, err
	}
	if !slices.Contains(operators, object.GroupVersionKind().Group) {
		return nil, unknown
	}
	return object, nil
}

var passed = regexp.MustCompile(`(?m)^Test Suites: +([0-9]+) passed, [0-9]+ total$`)

// TestUnits runs the suites of helm/reroll/tests, which say in the words of helm-unittest what a user gets.
func TestUnits(t *testing.T) {
	out, err := tool(t, "helm-unittest", "--strict", "--color=false", chart)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := passed.FindStringSubmatch(out); n == nil || n[1] == "0" {
		t.Errorf("no suite has passed:\n%s", out)
	}
}
