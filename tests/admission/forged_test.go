package admission

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// registered is how the API server calls the webhook.
func (s *site) registered() admissionregistrationv1.WebhookClientConfig {
	s.T.Helper()
	found, err := s.Client().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(s.Ctx(), configuration, metav1.GetOptions{})
	s.Must(err)
	return found.Webhooks[0].ClientConfig
}

// path returns the path at which the API server calls.
func (s *site) path() string {
	s.T.Helper()
	called, err := url.Parse(*s.registered().URL)
	s.Must(err)
	return called.Path
}

// forged returns a review that the API server did not send, as any pod can make it.
func (s *site) forged(namespace, config string) []byte {
	s.T.Helper()
	object := func(image string) []byte {
		stored := strings.Replace(manifest(s.NS, "forged", config, image, auto), "metadata:\n", "metadata:\n  uid: 8a5f1a57-93f8-4d0e-a5a5-5b1c4d2f6c11\n", 1)
		raw, err := yaml.YAMLToJSON([]byte(stored))
		s.Must(err)
		return raw
	}
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "forged", Operation: admissionv1.Update, Namespace: namespace, Name: "forged",
		Kind:      metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:  metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		OldObject: runtime.RawExtension{Raw: object("1")}, Object: runtime.RawExtension{Raw: object("2")},
	}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	s.Must(err)
	return body
}

// stranger is a client of the port that trusts the webhook's certificate, and has none of its own.
func (s *site) stranger() *http.Client {
	s.T.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.registered().CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
	s.T.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ask posts a review, and returns all that the answer says.
func (s *site) ask(client *http.Client, at, path string, body []byte) (code int, answer string, err error) {
	request, err := http.NewRequestWithContext(s.Ctx(), http.MethodPost, "https://"+at+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	said, err := io.ReadAll(response.Body)
	return response.StatusCode, string(said), err
}

// TestForgedReviewLearnsNothing: a pod that reaches the port gets the same answer whatever it asks, and no mark. What the API server knows and the pod does not is the path.
func TestForgedReviewLearnsNothing(t *testing.T) {
	s := newSite(t)
	s.apply(s.configFile("app", "one"))
	path, client := s.path(), s.stranger()
	for _, guess := range []string{"", "/", "/v1/admit", "/v1/admit/", path + "/", path[:len(path)-1], "/v1/admit/" + strings.Repeat("0", 64)} {
		for _, config := range []string{"app", "absent"} {
			code, answer, err := s.ask(client, address, guess, s.forged(s.NS, config))
			s.Must(err)
			if code != http.StatusNotFound || answer != "404 page not found\n" {
				t.Errorf("a review about %s at %q is answered %d %s", config, guess, code, answer)
			}
		}
	}
	code, answer, err := s.ask(client, address, path, s.forged(s.NS, "app"))
	s.Must(err)
	if code != http.StatusOK || !strings.Contains(answer, `"patch"`) {
		t.Errorf("at the path of the API server the same review is answered %d %s: the rest proves nothing", code, answer)
	}
}

// TestPathIsKept: Reroll publishes its path again after another client changed it, or dropped it with the other fields that a tool does not know.
func TestPathIsKept(t *testing.T) {
	s := newSite(t)
	path := s.path()
	s.Kubectl("patch", "mutatingwebhookconfiguration", configuration, "--type=json",
		"--patch", fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/url","value":"https://%s/v1/admit"}]`, address))
	s.AwaitThat("the path to be published again", func() bool { return s.path() != "/v1/admit" })
	s.answering()
	if now := s.path(); len(now) != len(path) {
		t.Errorf("the path is %q", now)
	}
}
