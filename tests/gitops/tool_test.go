package gitops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// tool is a way in which a GitOps tool finds that an object is not as Git has it, and makes it so.
type tool struct {
	name string
	// drifted reports whether the live object is not what git asks for.
	drifted func(t *testing.T, s *site) bool
	// sync applies what git asks for.
	sync func(t *testing.T, s *site)
}

// tools are those that leave alone what others have added, each in its way.
var tools = []tool{
	{"argocd", threeWay, func(t *testing.T, s *site) { s.kubectl(t, "apply", "--field-manager=argocd-controller") }},
	{"argocd-server-side", serverSide("argocd-controller"), forced("argocd-controller")},
	{"flux", serverSide("kustomize-controller"), forced("kustomize-controller")},
}

// replacing is Argo CD with the sync option Replace=true: it compares as it always does, and then writes the whole object.
var replacing = tool{"argocd-replace", threeWay, func(t *testing.T, s *site) { s.kubectl(t, "replace", "--field-manager=argocd-controller") }}

// forced applies as whoever takes the fields that it has an opinion about from others.
func forced(manager string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		s.kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager="+manager)
	}
}

// threeWay compares the live object with what a patch makes of it that is worked out of what git asks for, what was applied last and what is
// live. What others have added stays where the type of the object says how lists are merged. Of custom resources it does not, and their lists are
// replaced as a whole.
func threeWay(t *testing.T, s *site) bool {
	t.Helper()
	live := s.live(t)
	last := []byte(live.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"])
	wanted, is := asJSON(t, s.git), asJSON(t, live)
	if len(last) == 0 { // as of what was replaced
		last = wanted
	}
	merge := mergeTyped
	if s.kind == "Rollout" {
		merge = mergeCustom
	}
	predicted, err := merge(last, wanted, is)
	if err != nil {
		t.Fatal(err)
	}
	return !jsonpatch.Equal(predicted, is)
}

// mergeTyped returns what is live after a three-way merge of Deployments.
func mergeTyped(last, wanted, is []byte) ([]byte, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(appsv1.Deployment{})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, wanted, is, schema, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(is, patch, appsv1.Deployment{})
}

// mergeCustom returns what is live after a three-way merge of objects of whose type nothing is known.
func mergeCustom(last, wanted, is []byte) ([]byte, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, wanted, is)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(is, patch)
}

// serverSide compares the live object with what the API server says that an apply would make of it.
func serverSide(manager string) func(*testing.T, *site) bool {
	return func(t *testing.T, s *site) bool {
		t.Helper()
		said := s.kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager="+manager, "--dry-run=server", "--output=json")
		predicted := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(said), predicted); err != nil {
			t.Fatal(err)
		}
		live := s.live(t)
		for _, o := range []*unstructured.Unstructured{predicted, live} {
			o.SetManagedFields(nil)
			o.SetResourceVersion("")
			o.SetGeneration(0)
		}
		return !bytes.Equal(asJSON(t, predicted), asJSON(t, live))
	}
}

func asJSON(t *testing.T, v *unstructured.Unstructured) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// kubectl runs kubectl with what git asks for as its input, and returns what it prints.
func (s *site) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := shared.Kube.Command(t.Context(), append(args, "--namespace="+s.namespace, "--filename=-")...)
	cmd.Stdin = bytes.NewReader(asJSON(t, s.git))
	var complaint strings.Builder
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %v: %v: %s", args, err, complaint.String())
	}
	return string(output)
}

// ignoring returns a tool that was told which differences to ignore, and to leave them alone when it syncs: what it asks for has the live values
// there.
func (x tool) ignoring(rule ignoreRule) tool {
	respecting := func(s *site, t *testing.T) *site {
		respectful := *s
		respectful.git = s.git.DeepCopy()
		live := s.live(t)
		for _, path := range rule.paths(t, live) {
			copyAt(respectful.git.Object, live.Object, path)
		}
		return &respectful
	}
	return tool{
		name:    x.name + "-ignoring",
		drifted: func(t *testing.T, s *site) bool { return x.drifted(t, respecting(s, t)) },
		sync:    func(t *testing.T, s *site) { x.sync(t, respecting(s, t)) },
	}
}

// ignoreRule is one entry of ignoreDifferences of an Application, as far as docs/recipes.md has any.
type ignoreRule struct {
	Group                 string   `json:"group"`
	Kind                  string   `json:"kind"`
	JSONPointers          []string `json:"jsonPointers"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

// paths returns where the rule has differences ignored on an object. Elements of lists are named by their keys, as managed fields do.
func (r ignoreRule) paths(t *testing.T, live *unstructured.Unstructured) (paths [][]string) {
	t.Helper()
	for _, pointer := range r.JSONPointers {
		var path []string
		for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			path = append(path, "f:"+strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
		paths = append(paths, path)
	}
	for _, entry := range live.GetManagedFields() {
		for _, manager := range r.ManagedFieldsManagers {
			if entry.Manager != manager || entry.Subresource != "" {
				continue
			}
			paths = append(paths, owned(t, entry)...)
		}
	}
	return paths
}

// owned returns the paths of all fields that an entry owns: each element of a list as a whole.
func owned(t *testing.T, entry metav1.ManagedFieldsEntry) (paths [][]string) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		t.Fatal(err)
	}
	var walk func(at []string, below map[string]any)
	walk = func(at []string, below map[string]any) {
		for name, value := range below {
			deeper, _ := value.(map[string]any)
			path := append(append([]string{}, at...), name)
			_, whole := deeper["."]
			switch {
			case name == ".":
			case len(deeper) == 0 || strings.HasPrefix(name, "k:") && whole:
				paths = append(paths, path)
			default:
				walk(path, deeper)
			}
		}
	}
	walk(nil, fields)
	return paths
}

// copyAt copies what is at a path from one object to another, if it is there.
func copyAt(to, from map[string]any, path []string) {
	name := strings.TrimPrefix(path[0], "f:")
	value, there := from[name]
	if !there {
		return
	}
	list, isList := value.([]any)
	switch {
	case len(path) == 1:
		to[name] = value
	case isList:
		mine, _ := to[name].([]any)
		to[name] = copyElement(mine, list, path[1:])
	default:
		if to[name] == nil {
			to[name] = map[string]any{}
		}
		copyAt(to[name].(map[string]any), value.(map[string]any), path[1:])
	}
}

// copyElement copies what is at a path that begins with an element's key.
func copyElement(to, from []any, path []string) []any {
	var key map[string]any
	_ = json.Unmarshal([]byte(strings.TrimPrefix(path[0], "k:")), &key) // the API server wrote it
	element := func(list []any) map[string]any {
		for _, e := range list {
			if m, ok := e.(map[string]any); ok && fmt.Sprint(m["name"]) == fmt.Sprint(key["name"]) {
				return m
			}
		}
		return nil
	}
	theirs, mine := element(from), element(to)
	switch {
	case theirs == nil:
	case mine == nil:
		to = append(to, theirs)
	case len(path) == 1:
		for name, value := range theirs {
			mine[name] = value
		}
	default:
		copyAt(mine, theirs, path[1:])
	}
	return to
}
