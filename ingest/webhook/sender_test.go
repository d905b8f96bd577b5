package webhook

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	sender "k8s.io/apiserver/plugin/pkg/audit/webhook"

	"github.com/reroll-dev/reroll/reloader"
)

// kubeconfig writes what an operator would give to --audit-webhook-config-file.
func (r *rig) kubeconfig(cluster string) string {
	r.t.Helper()
	cert, key := r.clientCA.issue("apiserver", func(c *x509.Certificate) {
		c.Subject.CommonName, c.ExtKeyUsage = cluster+certificateDomain, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	return r.clientCA.write("kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: reroll, cluster: {server: "%s/v1/audit/%s", certificate-authority: "%s"}}]
users: [{name: apiserver, user: {client-certificate: "%s", client-key: "%s"}}]
contexts: [{name: c, context: {cluster: reroll, user: apiserver}}]
current-context: c
`, r.url, cluster, r.serverCA.caFile(), cert, key))
}

func sentEvent(i int) *audit.Event {
	at := metav1.NewMicroTime(time.Date(2026, 11, 21, 12, 0, i, 0, time.UTC))
	return &audit.Event{
		Level: audit.LevelRequest, AuditID: types.UID(fmt.Sprint("id-", i)), Stage: audit.StageResponseComplete, Verb: "update",
		RequestURI: "/api/v1/namespaces/shop/secrets/db?fieldManager=terraform", User: authnv1.UserInfo{Username: "ana"},
		SourceIPs: []string{"10.0.0.7"}, UserAgent: "terraform", ResponseStatus: &metav1.Status{Code: 200},
		ObjectRef:                &audit.ObjectReference{Resource: "secrets", Namespace: "shop", Name: fmt.Sprint("db-", i), APIVersion: "v1"},
		RequestObject:            &runtime.Unknown{Raw: []byte(`{"data":{"password":"aHVudGVyMg=="}}`), ContentType: runtime.ContentTypeJSON},
		RequestReceivedTimestamp: at, StageTimestamp: at,
	}
}

// TestRealSender posts with the API server's own packages and an operator's kubeconfig.
func TestRealSender(t *testing.T) {
	const events = 10
	stored := &sink{}
	r := start(t, func(_ *rig, o *Options) { o.Sink, o.TokenFile = stored, "" })
	backend, err := sender.NewBackend(r.kubeconfig("prod"), auditv1.SchemeGroupVersion, wait.Backoff{Steps: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	buffer := buffered.NewBackend(backend, buffered.BatchConfig{BufferSize: 100, MaxBatchSize: 4, MaxBatchWait: time.Minute, AsyncDelegate: true})
	stop := make(chan struct{})
	if err := buffer.Run(stop); err != nil {
		t.Fatal(err)
	}
	var want []reloader.Hint
	for i := range events {
		event := sentEvent(i)
		if !buffer.ProcessEvents(event) {
			t.Fatal("the sender's buffer is full")
		}
		want = append(want, reloader.Hint{
			Cluster: "prod", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: event.ObjectRef.Name},
			Verb: reloader.VerbUpdate, Source: reloader.SourceAudit, AuditID: string(event.AuditID), Code: 200, Time: event.StageTimestamp.Time,
			Actor: reloader.Actor{User: "ana", UserAgent: "terraform", SourceIP: "10.0.0.7", FieldManager: "terraform"},
		})
	}
	close(stop)
	buffer.Shutdown()
	if diff := cmp.Diff(want, stored.hints, cmpopts.IgnoreFields(reloader.Hint{}, "Received"),
		cmpopts.SortSlices(func(a, b reloader.Hint) bool { return a.Config.Name < b.Config.Name })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := r.metric("reroll_ingest_requests_total", "204"); n != r.metric("reroll_ingest_requests_total") || n >= events {
		t.Errorf("%v batches accepted of %v, want all, and fewer than events", n, r.metric("reroll_ingest_requests_total"))
	}
}
