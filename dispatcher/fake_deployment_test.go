package dispatcher_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestGenerations: of which writes the API server raises a generation, and which are another template.
func TestGenerations(t *testing.T) {
	for name, test := range map[string]struct {
		patch                                 string
		deployment, statefulSet, newTemplates int64
	}{
		"nothing":              {`{}`, 0, 0, 0},
		"a label":              {`{"metadata":{"labels":{"x":"y"}}}`, 0, 0, 0},
		"an annotation":        {`{"metadata":{"annotations":{"x":"y"}}}`, 1, 0, 0},
		"a status":             {`{"status":{"observedGeneration":1}}`, 0, 0, 0},
		"replicas":             {`{"spec":{"replicas":7}}`, 1, 1, 0},
		"a template":           {`{"spec":{"template":{"metadata":{"annotations":{"x":"y"}}}}}`, 1, 1, 1},
		"annotation, template": {`{"metadata":{"annotations":{"x":"y"}},"spec":{"template":{"metadata":{"annotations":{"x":"y"}}}}}`, 1, 1, 1},
	} {
		c := newCluster()
		for kind, want := range map[string]int64{"Deployment": test.deployment, "StatefulSet": test.statefulSet} {
			if err := c.create(alice, object(t, `
kind: `+kind+`
metadata: {name: web}
spec: {template: {spec: {containers: [{name: main, image: a}]}}}`)); err != nil {
				t.Fatal(err)
			}
			ref := scenario.Ref(kind + "/web")
			raised, err := c.patchBy(bob, ref, types.MergePatchType, []byte(test.patch))
			if templates := c.revision(ref) - 1; err != nil || raised != want || templates != test.newTemplates {
				t.Errorf("%s of a %s: raised by %d, %d new templates, error %v; want %d and %d", name, kind, raised, templates, err, want, test.newTemplates)
			}
		}
	}
}

// TestUndo: with the template of a ReplicaSet its annotations come back: those of its time, and those that the Deployment got with it later. None of
// them goes away but those that came with another template.
func TestUndo(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		old := w.copyOf()
		annotate := func(annotations string) {
			w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{`+annotations+`}}}`)))
		}
		annotate(`"a":"1","late":"1","gone":"1","deployment.kubernetes.io/revision":"1"`)
		annotate(`"gone":null`)
		w.image(web, "b")
		annotate(`"a":"2","b":"2","deployment.kubernetes.io/revision":"2"`)
		w.undo(old)
		w.undo(old) // it has that template
		now := w.copyOf()
		for key, want := range map[string]string{"a": "1", "b": "", "late": "1", "gone": "1", "deployment.kubernetes.io/revision": "2"} {
			if got := now.Annotations[key]; got != want {
				t.Errorf("annotation %s is %q, want %q", key, got, want)
			}
		}
		if n := w.revision(web); n != 3 || now.Spec.Template.Spec.Containers[0].Image != old.Spec.Template.Spec.Containers[0].Image {
			t.Errorf("%d templates, the last one %+v", n, now.Spec.Template)
		}
	})
}
