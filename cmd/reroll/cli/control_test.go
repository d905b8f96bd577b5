package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	gopath "path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/reroll-dev/reroll/reloader/control"
)

// apiServer has the ConfigMap of operators, in the namespace reroll, and the metadata of a few other objects. It has
// nothing else.
type apiServer struct {
	t    *testing.T
	data map[string]string
	// annotations are those that a workload was given.
	annotations map[string]string
	objects     []string
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
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "reroll"}}], "users": [{"name": "u", "user": {}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, file
}

// ServeHTTP answers as the API server does.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const ours = "/api/v1/namespaces/reroll/configmaps/" + control.ConfigMap
	var answer any = metav1.Status{TypeMeta: typeMeta("v1", "Status"), Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	code := http.StatusNotFound
	there := strings.HasSuffix(r.URL.Path, "/kube-system")
	for _, object := range s.objects {
		there = there || r.URL.Path == object
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		code, answer = http.StatusCreated, authenticationv1.SelfSubjectReview{
			TypeMeta: typeMeta("authentication.k8s.io/v1", "SelfSubjectReview"),
			Status:   authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "carol"}},
		}
	case r.URL.Path == ours:
		if r.Method == http.MethodPut {
			s.take(r)
		}
		code, answer = http.StatusOK, corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap, ResourceVersion: "1"}, Data: s.data}
	case there && r.Method == http.MethodPatch:
		var patch metav1.PartialObjectMetadata
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			s.t.Error(err)
		}
		s.annotations = patch.Annotations
		code, answer = http.StatusOK, metav1.PartialObjectMetadata{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadata")}
	case there:
		code, answer = http.StatusOK, metav1.PartialObjectMetadata{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadata")}
		if strings.HasSuffix(r.URL.Path, "/kube-system") {
			answer = corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		}
	default:
		// A list has the objects right below its path, or those of all namespaces.
		everywhere := regexp.MustCompile(`/namespaces/([^/]+)(/[^/]+/)$`)
		wanted := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		l := metav1.PartialObjectMetadataList{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadataList")}
		for _, object := range s.objects {
			folder, name := gopath.Split(object)
			if at := r.URL.Path + "/"; folder != at && everywhere.ReplaceAllString(folder, "$2") != at || wanted != "" && name != wanted {
				continue
			}
			meta := metav1.ObjectMeta{Name: name}
			if in := everywhere.FindStringSubmatch(folder); in != nil {
				meta.Namespace = in[1]
			}
			l.Items = append(l.Items, metav1.PartialObjectMetadata{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadata"), ObjectMeta: meta})
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

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// document is what the ConfigMap says before a command.
const document = `freeze: {by: alice, reason: incident 7, since: "2026-01-30T18:00:00Z", until: "2126-01-31T18:00:00Z"}
pauses:
- {namespace: shop, until: "2126-01-31T18:00:00Z"}
`

const ours, web = "/api/v1/namespaces/reroll/secrets/reroll-digest-key", "/apis/apps/v1/namespaces/shop/deployments/web"

const webOfBank = "/apis/apps/v1/namespaces/bank/statefulsets/web"

// TestPauseOfAllIsNobodyElses: the user who pauses everything is named, with the time, and not the one who did so before. resume -A ends it.
func TestPauseOfAllIsNobodyElses(t *testing.T) {
	for name, args := range map[string][]string{"pause": {"pause", "-A", "--reason", "release"}, "resume": {"resume", "-A"}} {
		t.Run(name, func(t *testing.T) {
			s, kubeconfig := newAPIServer(t, map[string]string{control.Key: document})
			s.objects = []string{ours}
			if _, _, err := run(t, append(args, "--kubeconfig", kubeconfig)...); err != nil {
				t.Fatal(err)
			}
			c := control.Parse(s.data)
			f, frozen := c.Freeze(time.Now())
			if len(c.Pauses) != 1 || frozen != (name == "pause") {
				t.Fatalf("the ConfigMap has %v", s.data)
			}
			if frozen && (f.By != "carol" || f.Reason != "release" || !f.Until.IsZero() || time.Since(f.Since).Abs() > time.Minute) {
				t.Errorf("paused: %+v", f)
			}
		})
	}
}

// TestNothingIsWrittenInVain: nothing is written about what is certainly not there, nor where Reroll does not run unless the user insists, nor
// next to a document that cannot be read, nor if there is nothing to resume.
func TestNothingIsWrittenInVain(t *testing.T) {
	for name, c := range map[string]struct {
		args     string
		document string
		objects  []string
		refusal  string
		code     int
	}{
		"a workload":              {args: "retry shop/deploy/web", objects: []string{shop, web}},
		"a misspelt workload":     {args: "retry shop/deploy/wbe", objects: []string{shop, web}, refusal: "annotate Deployment/shop/wbe"},
		"a name in a namespace":   {args: "reload deploy web -n shop", objects: []string{shop, web, webOfBank}},
		"a name without its kind": {args: "retry web -n shop", objects: []string{shop, web}, refusal: `"web" is not [[CLUSTER/]`, code: ExitUsage},
		"a name of any namespace": {args: "retry deploy/web", objects: []string{shop, web}, refusal: "in which namespace is Deployment/web?", code: ExitUsage},
		"a pause":                 {args: "pause -n shop", objects: []string{ours, shop}},
		"a pause of no label":     {args: "pause -n shop -l a=b=c", objects: []string{ours, shop}, refusal: "--selector: ", code: ExitUsage},
		"a workload elsewhere":    {args: "retry east/shop/deploy/web", objects: []string{shop, web}, refusal: "is not [NAMESPACE/]KIND/NAME", code: ExitUsage},
		"a pause of no time":      {args: "pause -n shop --for -1h", objects: []string{ours, shop}, refusal: "--for must be positive", code: ExitUsage},
		"a pause of nobody":       {args: "pause -n shpo", objects: []string{ours, shop}, refusal: "there is no namespace shpo."},
		"a pause in advance":      {args: "pause -n shop --force", objects: []string{ours}},
		"a pause elsewhere":       {args: "pause -A", refusal: "found no Reroll in namespace reroll, which has neither Secret reroll-digest-key nor ConfigMap reroll-canary; nothing was written: set --reroll-namespace"},
		"beside another document": {args: "pause -A", document: "frezze: {}", objects: []string{ours}, refusal: `line 1: field frezze not found`},
		"nothing is paused":       {args: "resume -n shop", objects: []string{ours}, refusal: "found no pause of all workloads in shop. List the pauses with: reroll status --kubeconfig "},
	} {
		t.Run(name, func(t *testing.T) {
			s, kubeconfig := newAPIServer(t, map[string]string{control.Key: c.document})
			s.objects = c.objects
			_, _, err := run(t, append(strings.Fields(c.args), "--kubeconfig", kubeconfig)...)
			if code, _ := ExitCode(err); c.refusal == "" && err != nil || c.refusal != "" && (code != max(c.code, ExitFailed) || !strings.Contains(Say(err), c.refusal)) {
				t.Errorf("%v, want %q", err, c.refusal)
			}
			if written := s.data[control.Key] != c.document || len(s.annotations) > 0; written != (c.refusal == "") {
				t.Errorf("written: the ConfigMap has %v, the workload %v", s.data, s.annotations)
			}
		})
	}
}
