package audit

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// encode returns what an API server would post: its own types, through its own codec.
func encode(t testing.TB, events ...auditv1.Event) []byte {
	t.Helper()
	return encodeObject(t, &auditv1.EventList{Items: events})
}

func encodeObject(t testing.TB, o runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := auditv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(auditv1.SchemeGroupVersion)
	var body bytes.Buffer
	if err := codec.Encode(o, &body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

// realistic returns an event of the size that API servers send at level Metadata.
func realistic(i int, verb string) auditv1.Event {
	at := metav1.NewMicroTime(time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC))
	name := fmt.Sprintf("settings-%d", i)
	return auditv1.Event{
		Level: auditv1.LevelMetadata, AuditID: types.UID(fmt.Sprintf("5a0a4e9f-7f4e-4b34-9b56-%012d", i)), Stage: auditv1.StageResponseComplete,
		RequestURI: "/api/v1/namespaces/shop/configmaps/" + name + "?fieldManager=argocd-controller&fieldValidation=Strict", Verb: verb,
		User: authnv1.UserInfo{
			Username: "system:serviceaccount:argocd:argocd-application-controller", UID: "0b4f1f5e-6a39-4d3a-9b2f-1f0d7e6c5b4a",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:argocd", "system:authenticated"},
			Extra: map[string]authnv1.ExtraValue{
				"authentication.kubernetes.io/credential-id": {"JTI=7e0c5f2a-9d4b-4a8e-8c1d-3b2a1f0e9d8c"},
				"authentication.kubernetes.io/node-name":     {"ip-10-0-13-77.eu-central-1.compute.internal"},
				"authentication.kubernetes.io/node-uid":      {"c9d8e7f6-a5b4-4c3d-8e2f-1a0b9c8d7e6f"},
				"authentication.kubernetes.io/pod-name":      {"argocd-application-controller-0"},
				"authentication.kubernetes.io/pod-uid":       {"1f2e3d4c-5b6a-4798-8a9b-0c1d2e3f4a5b"},
			},
		},
		SourceIPs: []string{"10.0.13.77"}, UserAgent: "argocd-application-controller/v3.2.1 (linux/amd64) kubernetes/$Format",
		ObjectRef:                &auditv1.ObjectReference{Resource: "configmaps", Namespace: "shop", Name: name, APIVersion: "v1"},
		ResponseStatus:           &metav1.Status{Code: 200},
		RequestReceivedTimestamp: at, StageTimestamp: at,
		Annotations: map[string]string{
			"authorization.k8s.io/decision": "allow",
			"authorization.k8s.io/reason": `RBAC: allowed by ClusterRoleBinding "argocd-application-controller" of ClusterRole ` +
				`"argocd-application-controller" to ServiceAccount "argocd-application-controller/argocd"`,
		},
	}
}

func TestAgreesWithTheAPIServer(t *testing.T) {
	resources := map[reloader.ConfigKind]string{reloader.ConfigMap: "configmaps", reloader.Secret: "secrets"}
	for _, verb := range []reloader.Verb{
		reloader.VerbCreate, reloader.VerbUpdate, reloader.VerbPatch, reloader.VerbDelete, reloader.VerbDeleteCollection,
	} {
		for kind, resource := range resources {
			t.Run(string(verb)+" "+string(kind), func(t *testing.T) {
				event := realistic(7, string(verb))
				event.UserAgent = "<a & b>"
				event.ImpersonatedUser = &authnv1.UserInfo{Username: "bob"}
				event.RequestObject = &runtime.Unknown{Raw: []byte(`{"data":{"a":{"stage":"x"}}}`), ContentType: runtime.ContentTypeJSON}
				event.ObjectRef.Resource = resource
				want := reloader.Hint{
					Cluster: "prod", Config: reloader.Config{Kind: kind, Namespace: "shop", Name: event.ObjectRef.Name},
					Verb: verb, Source: reloader.SourceAudit,
					Actor: reloader.Actor{
						User: "bob", AuthenticatedUser: event.User.Username, UserAgent: "<a & b>", SourceIP: "10.0.13.77",
						FieldManager: "argocd-controller",
					},
					AuditID: string(event.AuditID), Code: 200, Time: event.StageTimestamp.Time, Received: received,
				}
				if verb == reloader.VerbDeleteCollection {
					event.ObjectRef.Name, want.Config.Name = "", ""
				}
				got, err := Decode(encode(t, event), options())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(Result{Hints: []reloader.Hint{want}, Received: 1, Skipped: map[Skip]int{}}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
