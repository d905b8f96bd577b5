package behaviour

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/line"
)

// marked is a pod template with marks of before, and with a variable of a mark's name that takes its value from elsewhere.
const marked = `{"metadata":{"labels":{"app":"web"}},"spec":{"restartPolicy":"POLICY","containers":[
{"name":"main","image":"i","env":[{"name":"TWICE","value":"1"},{"name":"STAKATER_Z_CONFIGMAP","value":"00"},{"name":"URL","value":"$(HOST)"},{"name":"STAKATER_A_CONFIGMAP","value":"00"},{"name":"STAKATER_GONE_SECRET","value":"00"},{"name":"TWICE","value":"2"}]},
{"name":"bare","image":"i"},
{"name":"aside","image":"i","env":[{"name":"STAKATER_FROM_CONFIGMAP","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}]}]}}`

// specs are the kinds whose API takes strategic merge patches.
var specs = map[string]string{
	"Deployment":  `{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":TEMPLATE}`,
	"StatefulSet": `{"replicas":0,"serviceName":"web","selector":{"matchLabels":{"app":"web"}},"template":TEMPLATE}`,
	"DaemonSet":   `{"selector":{"matchLabels":{"app":"web"}},"template":TEMPLATE}`,
	"CronJob":     `{"suspend":true,"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":TEMPLATE}}}`,
}

// TestMark: the API server takes the patch of a roll once, and makes of it what Apply makes of it. It refuses a patch of another version
// or object, and a variable that has a valueFrom.
func TestMark(t *testing.T) {
	env := func(name, value string, containers ...string) mark.Mark {
		return mark.Mark{Place: mark.Place{Env: name, Containers: containers}, Value: value}
	}
	roll := mark.Roll{
		Hash: "h", Annotations: map[string]any{"reroll.dev/applied": `{"n":1}`, "old": nil, "absent": nil},
		Marks: []mark.Mark{
			env("STAKATER_A_CONFIGMAP", "11", "main"), env("STAKATER_Z_CONFIGMAP", "11", "main"), env("STAKATER_NEW_SECRET", "11", "bare"), env(mark.HashEnv, "h", "main"), env("FABRIC8_ALL_CONFIGMAP", "11"),
			{Place: mark.Place{Env: "STAKATER_GONE_SECRET"}, Remove: true},
			{Place: mark.Place{Annotation: "wave.pusher.com/config-hash"}, Value: "11"},
		},
	}
	taken := mark.Roll{Hash: "t", Marks: []mark.Mark{env("STAKATER_FROM_CONFIGMAP", "11", "aside")}}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			o := newObject(t, name, spec)
			line.Eventually(t, "a patch that no other write came before", func(context.Context) error {
				w, before := o.read()
				want, err := mark.Apply(w, before, roll)
				if err != nil {
					return line.Stop(err)
				}
				got, err := o.patch(w, roll)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
					t.Errorf("Apply and the API server differ (-Apply +server):\n%s", diff)
				}
				if _, err := o.patch(w, roll); !apierrors.IsConflict(err) {
					t.Errorf("the same patch again: %v, want a conflict", err)
				}
				w.UID = "11111111-1111-1111-1111-111111111111"
				if _, err := o.patch(w, roll); !apierrors.IsConflict(err) {
					t.Errorf("the patch of an object that was there before: %v, want a conflict", err)
				}
				return nil
			})
			line.Eventually(t, "refusals of the current version", func(context.Context) error {
				w, before := o.read()
				_, local := mark.Apply(w, before, taken)
				_, server := o.patch(w, taken)
				w.UID = "11111111-1111-1111-1111-111111111111"
				_, another := o.patch(w, roll)
				if apierrors.IsConflict(server) || apierrors.IsConflict(another) {
					return errors.Join(server, another)
				}
				if !errors.Is(local, mark.ErrTaken) || !apierrors.IsInvalid(server) || !strings.Contains(server.Error(), "valueFrom") {
					t.Errorf("a variable with a valueFrom: %v of Apply, %v of the API server", local, server)
				}
				if !apierrors.IsInvalid(another) || !strings.Contains(another.Error(), "metadata.uid") {
					t.Errorf("a patch of another object: %v", another)
				}
				t.Logf("%v\n%v", server, another)
				return nil
			})
		})
	}
}

// object is a workload of one kind on the API server.
type object struct {
	t    *testing.T
	kind workload.Kind
	path string
}

func newObject(t *testing.T, name, spec string) object {
	t.Helper()
	kind, _ := workload.KindNamed(name)
	version := kind.Resource.GroupVersion().String()
	o := object{t, kind, "/apis/" + version + "/namespaces/" + shared.Kube.Namespace(t) + "/" + kind.Resource.Resource}
	policy := map[bool]string{true: "Never", false: "Always"}[name == "CronJob"]
	spec = strings.NewReplacer("TEMPLATE", strings.Replace(marked, "POLICY", policy, 1)).Replace(spec)
	body := `{"kind":"` + name + `","apiVersion":"` + version + `","metadata":{"name":"web","annotations":{"old":"x","team":"shop"}},"spec":` + spec + `}`
	if _, err := o.send(http.MethodPost, "application/json", []byte(body)); err != nil {
		t.Fatal(err)
	}
	o.path += "/web"
	return o
}

func (o object) send(verb, contentType string, body []byte) ([]byte, error) {
	request := shared.Kube.Client().AppsV1().RESTClient().Verb(verb).AbsPath(o.path).SetHeader("Accept", "application/json")
	result := request.SetHeader("Content-Type", contentType).Body(body).Do(o.t.Context())
	if err := result.Error(); err != nil {
		return nil, err // Raw would not read the status
	}
	return result.Raw()
}

func (o object) read() (*workload.Workload, []byte) {
	o.t.Helper()
	data, err := o.send(http.MethodGet, "application/json", nil)
	w, unreadable := o.kind.Strip(json.RawMessage(data), func(string) bool { return true })
	if err := errors.Join(err, unreadable); err != nil {
		o.t.Fatal(err)
	}
	return w, data
}

func (o object) patch(w *workload.Workload, r mark.Roll) ([]byte, error) {
	o.t.Helper()
	body, err := mark.Patch(w, r)
	if err != nil {
		o.t.Fatal(err)
	}
	return o.send(http.MethodPatch, string(types.StrategicMergePatchType), body)
}

// plain returns an object without what every write changes.
func plain(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var fields struct {
		Metadata metav1.ObjectMeta
		Spec     map[string]any
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields.Metadata.Annotations, appsv1.DeprecatedTemplateGeneration) // the API server counts
	return map[string]any{"annotations": fields.Metadata.Annotations, "uid": fields.Metadata.UID, "spec": fields.Spec}
}
