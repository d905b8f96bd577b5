package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/reloader/control"
)

// apiServer has the ConfigMap of operators, in the namespace reroll, and the metadata of a few other objects. Whatever else it is asked for is
// not there, or forbidden.
type apiServer struct {
	t    *testing.T
	data map[string]string
	// annotations are those that a workload was given.
	annotations map[string]string
	objects     []string
	forbidden   bool
	codecs      serializer.CodecFactory
}

// shop is a namespace.
const shop = "/api/v1/namespaces/shop"

// newAPIServer returns the API server and a kubeconfig for it.
func newAPIServer(t *testing.T, data map[string]string) (*apiServer, string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &apiServer{t: t, data: data, codecs: serializer.NewCodecFactory(scheme)}
	return s, kubeconfigOf(t, s)
}

// kubeconfigOf starts an API server and returns a kubeconfig for it.
func kubeconfigOf(t *testing.T, api http.Handler) (file string) {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "reroll"}}], "users": [{"name": "u", "user": {}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ServeHTTP answers as the API server does.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const ours = "/api/v1/namespaces/reroll/configmaps/" + control.ConfigMap
	var answer any = metav1.Status{TypeMeta: kindOf("v1", "Status"), Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	code := http.StatusNotFound
	there := strings.HasSuffix(r.URL.Path, "/kube-system")
	for _, object := range s.objects {
		there = there || r.URL.Path == object
	}
	switch {
	case s.forbidden && r.URL.Path != ours:
		code, answer = http.StatusForbidden, metav1.Status{
			TypeMeta: kindOf("v1", "Status"), Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
		}
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		code, answer = http.StatusCreated, authenticationv1.SelfSubjectReview{
			TypeMeta: kindOf("authentication.k8s.io/v1", "SelfSubjectReview"),
			Status:   authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "carol"}},
		}
	case r.URL.Path == ours:
		if r.Method == http.MethodPut {
			s.take(r)
		}
		code, answer = http.StatusOK, corev1.ConfigMap{TypeMeta: kindOf("v1", "ConfigMap"), ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap}, Data: s.data}
	case there && r.Method == http.MethodPatch:
		s.annotate(r)
		code, answer = http.StatusOK, metav1.PartialObjectMetadata{TypeMeta: kindOf("meta.k8s.io/v1", "PartialObjectMetadata")}
	case there:
		code, answer = http.StatusOK, metav1.PartialObjectMetadata{TypeMeta: kindOf("meta.k8s.io/v1", "PartialObjectMetadata")}
		if strings.HasSuffix(r.URL.Path, "/kube-system") {
			answer = corev1.Namespace{TypeMeta: kindOf("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		}
	default:
		// A list has the objects right below its path, or those of all namespaces.
		everywhere := regexp.MustCompile(`/namespaces/([^/]+)(/[^/]+/)$`)
		wanted := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		l := metav1.PartialObjectMetadataList{TypeMeta: kindOf("meta.k8s.io/v1", "PartialObjectMetadataList")}
		for _, object := range s.objects {
			folder, name := path.Split(object)
			if at := r.URL.Path + "/"; folder != at && everywhere.ReplaceAllString(folder, "$2") != at || wanted != "" && name != wanted {
				continue
			}
			meta := metav1.ObjectMeta{Name: name}
			if in := everywhere.FindStringSubmatch(folder); in != nil {
				meta.Namespace = in[1]
			}
			l.Items = append(l.Items, metav1.PartialObjectMetadata{TypeMeta: kindOf("meta.k8s.io/v1", "PartialObjectMetadata"), ObjectMeta: meta})
			code, answer = http.StatusOK, l
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *apiServer) take(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
		return
	}
	obj, _, err := s.codecs.UniversalDeserializer().Decode(body, nil, nil)
	if stored, ok := obj.(*corev1.ConfigMap); ok {
		s.data = stored.Data
		return
	}
	s.t.Errorf("%T was written: %v", obj, err)
}

func (s *apiServer) annotate(r *http.Request) {
	var patch metav1.PartialObjectMetadata
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		s.t.Error(err)
	}
	s.annotations = patch.Annotations
}

func kindOf(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// operate runs a command of operators, and returns what it says.
func operate(t *testing.T, args ...string) (said string) {
	t.Helper()
	said, err := tryTo(t, args...)
	if err != nil {
		t.Fatalf("reroll %v: %v", args, err)
	}
	return said
}

// tryTo is operate for what may be refused.
func tryTo(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	var out strings.Builder
	cmd := Command("v1.2.3")
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// document is what the ConfigMap says before a command.
const document = `freeze: {by: alice, reason: incident 7, since: "2026-01-30T18:00:00Z", until: "2126-01-31T18:00:00Z"}
pauses:
- {namespace: shop, until: "2126-01-31T18:00:00Z"}
`

const ours, web = "/api/v1/namespaces/reroll/secrets/reroll-digest-key", "/apis/apps/v1/namespaces/shop/deployments/web"

const webOfBank = "/apis/apps/v1/namespaces/bank/statefulsets/web"

// TestFreezeIsNobodyElses: who freezes by the command line is named, with the time, and not who froze before.
func TestFreezeIsNobodyElses(t *testing.T) {
	for name, args := range map[string][]string{"freeze": {"freeze", "--reason", "release"}, "thaw": {"thaw"}} {
		t.Run(name, func(t *testing.T) {
			s, kubeconfig := newAPIServer(t, map[string]string{control.Key: document})
			s.objects = []string{ours}
			operate(t, append(args, "--kubeconfig", kubeconfig)...)
			c := control.Parse(s.data)
			f, frozen := c.Freeze(time.Now())
			if len(c.Pauses) != 1 || frozen != (name == "freeze") {
				t.Fatalf("the ConfigMap has %v", s.data)
			}
			if frozen && (f.By != "carol" || f.Reason != "release" || !f.Until.IsZero() || time.Since(f.Since).Abs() > time.Minute) {
				t.Errorf("frozen: %+v", f)
			}
		})
	}
}

// TestNothingIsWrittenInVain: nothing is written about what is certainly not there, nor where Reroll does not run unless the user insists, nor
// beside a document that cannot be read.
func TestNothingIsWrittenInVain(t *testing.T) {
	for name, c := range map[string]struct {
		args      string
		document  string
		objects   []string
		forbidden bool
		refusal   string
		code      int
	}{
		"a workload":                 {args: "retry shop/deploy/web", objects: []string{shop, web}},
		"a misspelt workload":        {args: "retry shop/deploy/wbe", objects: []string{shop, web}, refusal: "there is no Deployment wbe in namespace shop; did you mean web? Nothing was written"},
		"no such workload":           {args: "reload shop/deploy/nosuch", objects: []string{shop, web}, refusal: "there is no Deployment nosuch in namespace shop. Nothing was written"},
		"in a misspelt namespace":    {args: "reload shpo/deploy/web", objects: []string{shop, web}, refusal: "there is no namespace shpo; did you mean shop?"},
		"a bare name":                {args: "retry web", objects: []string{shop, web}},
		"a name in a namespace":      {args: "reload web -n shop", objects: []string{shop, web, webOfBank}},
		"a name without its kind":    {args: "retry shop/web", objects: []string{shop, web, webOfBank}},
		"a name that two have":       {args: "retry web", objects: []string{web, webOfBank}, refusal: "which web is meant? Name one of shop/Deployment/web, bank/StatefulSet/web", code: cli.ExitUsage},
		"a name that none has":       {args: "retry deploy/wbe", objects: []string{web}, refusal: "there is no workload deploy/wbe. Nothing was written"},
		"a name without a right":     {args: "retry web", objects: []string{web}, forbidden: true, refusal: "name it as NAMESPACE/KIND/NAME"},
		"two arguments":              {args: "retry deploy web", objects: []string{web}, refusal: "use KIND/NAME, such as deploy/web", code: cli.ExitUsage},
		"two namespaces":             {args: "retry shop/web -n bank", objects: []string{web}, refusal: "is not where the flags say", code: cli.ExitUsage},
		"a pause":                    {args: "pause -n shop", objects: []string{ours, shop}},
		"a pause of all":             {args: "pause -A", objects: []string{ours, shop}},
		"a pause of nobody":          {args: "pause -n shpo", objects: []string{ours, shop}, refusal: "there is no namespace shpo; did you mean shop?"},
		"a pause in advance":         {args: "pause -n shop --force", objects: []string{ours}},
		"a freeze elsewhere":         {args: "freeze", refusal: "found no Reroll in namespace reroll, which has neither Secret reroll-digest-key nor ConfigMap reroll-canary; nothing was written: set --reroll-namespace"},
		"a freeze all the same":      {args: "freeze --force"},
		"a thaw elsewhere":           {args: "thaw", refusal: "found no Reroll in namespace"},
		"a pause elsewhere":          {args: "pause -A", refusal: "found no Reroll in namespace"},
		"beside another document":    {args: "freeze", document: "frezze: {}", objects: []string{ours}, refusal: `line 1: unknown key "frezze". Correct it with: kubectl -n reroll edit configmap reroll-control`},
		"a thaw of what is not read": {args: "thaw", document: "freeze: true", objects: []string{ours}, refusal: "line 1: `true` does not belong here"},
	} {
		t.Run(name, func(t *testing.T) {
			s, kubeconfig := newAPIServer(t, map[string]string{control.Key: c.document})
			s.objects, s.forbidden = c.objects, c.forbidden
			_, err := tryTo(t, append(strings.Fields(c.args), "--kubeconfig", kubeconfig)...)
			if code, _ := cli.ExitCode(err); c.refusal == "" && err != nil || c.refusal != "" && (code != max(c.code, cli.ExitFailed) || !strings.Contains(cli.Say(err), c.refusal)) {
				t.Errorf("%v, want %q", err, c.refusal)
			}
			if written := s.data[control.Key] != c.document || len(s.annotations) > 0; written != (c.refusal == "") {
				t.Errorf("written: the ConfigMap has %v, the workload %v", s.data, s.annotations)
			}
		})
	}
}

// TestDeedsAreTold: what was done is reported in a sentence, and in every other format, each of which names what it was done to.
func TestDeedsAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		said  string
		named string
		wants map[string]any
	}{
		"freeze": {
			[]string{"freeze", "--reason", "release"},
			"frozen until it is thawed (ConfigMap reroll/reroll-control)\n", "reroll/ConfigMap/reroll-control\n",
			map[string]any{"done": "freeze", "reason": "release", "message": "frozen until it is thawed (ConfigMap reroll/reroll-control)"},
		},
		"thaw": {[]string{"thaw"}, "thawed (ConfigMap reroll/reroll-control)\n", "reroll/ConfigMap/reroll-control\n", map[string]any{"done": "thaw"}},
		"pause": {
			[]string{"pause", "-n", "shop", "-l", "app=cart", "--reason", "sale"},
			"", "reroll/ConfigMap/reroll-control\n",
			map[string]any{"done": "pause", "namespace": "shop", "selector": "app=cart", "reason": "sale"},
		},
		"resume": {
			[]string{"resume", "-n", "shop"},
			"resumed all workloads in shop (ConfigMap reroll/reroll-control)\n", "reroll/ConfigMap/reroll-control\n",
			map[string]any{"done": "resume", "namespace": "shop", "names": []any{"reroll/ConfigMap/reroll-control"}},
		},
		"retry": {
			[]string{"retry", "shop/deploy/web"},
			"asked for another try of shop/Deployment/web\n", "shop/Deployment/web\n",
			map[string]any{"done": "retry", "names": []any{"shop/Deployment/web"}, "annotation": "reroll.dev/retry"},
		},
		"reload": {
			[]string{"reload", "shop/deploy/web", "--reason", "new certificates"},
			"asked for a roll of shop/Deployment/web\n", "shop/Deployment/web\n",
			map[string]any{"done": "reload", "names": []any{"shop/Deployment/web"}, "annotation": "reroll.dev/requested"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(more ...string) string {
				s, kubeconfig := newAPIServer(t, map[string]string{control.Key: document})
				s.objects = []string{shop, web, ours}
				said := operate(t, slices.Concat(c.args, more, []string{"--kubeconfig", kubeconfig})...)
				if key, _ := c.wants["annotation"].(string); key != "" && (s.annotations[key] == "" || strings.HasSuffix(s.annotations[key], "new certificates") != (name == "reload")) {
					t.Errorf("the workload was given %v", s.annotations)
				}
				return said
			}
			if said := run(); c.said != "" && said != c.said {
				t.Errorf("said %q, want %q", said, c.said)
			}
			if named := run("-o", "name"); named != c.named {
				t.Errorf("named %q, want %q", named, c.named)
			}
			var told map[string]any
			if body := run("-o", "json"); json.Unmarshal([]byte(body), &told) != nil {
				t.Fatalf("no JSON: %s", body)
			}
			for key, value := range c.wants {
				if diff := cmp.Diff(value, told[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
			if until, _ := told["until"].(string); (until != "") != (name == "pause") {
				t.Errorf("it is said to last until %q", until)
			}
			if said := run("-o", "yaml"); !strings.Contains(said, "done: "+name+"\n") {
				t.Errorf("no YAML: %s", said)
			}
			if said := run("-o", "jsonpath={.done}"); said != name+"\n" {
				t.Errorf("picked %q", said)
			}
		})
	}
}

// TestThawSaysWhatItFound: a freeze that has ended is removed, and without a freeze nothing is written.
func TestThawSaysWhatItFound(t *testing.T) {
	for document, want := range map[string]string{
		"":                                      "nothing was frozen (ConfigMap reroll/reroll-control)\n",
		"freeze: {until: 2026-01-31T18:00:00Z}": "removed the freeze, which had ended at 2026-01-31T18:00:00Z (ConfigMap reroll/reroll-control)\n",
	} {
		s, kubeconfig := newAPIServer(t, map[string]string{control.Key: document})
		s.objects = []string{ours}
		if said := operate(t, "thaw", "--kubeconfig", kubeconfig); said != want {
			t.Errorf("%s: said %q, want %q", document, said, want)
		}
		if written := s.data[control.Key] != document; written != (document != "") {
			t.Errorf("%s: the ConfigMap has %v", document, s.data)
		}
	}
}

// TestNothingIsDoneThatCannotBeTold: a format that there is not is refused before anything is written.
func TestNothingIsDoneThatCannotBeTold(t *testing.T) {
	s, kubeconfig := newAPIServer(t, map[string]string{control.Key: document})
	for _, args := range [][]string{{"freeze"}, {"thaw"}, {"pause", "-n", "shop"}, {"resume", "-n", "shop"}, {"retry", "shop/deploy/web"}, {"reload", "shop/deploy/web"}} {
		if _, err := tryTo(t, append(args, "--kubeconfig", kubeconfig, "-o", "wide")...); err == nil {
			t.Errorf("reroll %v is done", args)
		} else if code, _ := cli.ExitCode(err); code != cli.ExitUsage {
			t.Errorf("reroll %v: code %d", args, code)
		}
	}
	if s.data[control.Key] != document || len(s.annotations) > 0 {
		t.Errorf("it was written: %v, %v", s.data, s.annotations)
	}
}
