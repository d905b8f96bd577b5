package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// The load of TestLargeReviews: as many reviews at a time, each as large as an API server takes them, of a workload with as many configs of the
// largest size.
const (
	largeReviews = 48
	largeBytes   = 1 << 20
	largeConfigs = 8
)

// TestLargeReviews: whatever reviews API servers bring at once, and however large the configs are, the process stays within the memory limit that
// the chart gives it, and keeps answering.
func TestLargeReviews(t *testing.T) {
	s := newSite(t)
	for i := range largeConfigs {
		_, err := s.client.CoreV1().ConfigMaps(s.ns).Create(s.ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("large-", i)}, Data: map[string]string{"key": strings.Repeat("x", largeBytes-1000)},
		}, metav1.CreateOptions{})
		s.must(err)
	}
	addresses, err := port.Addresses(2)
	s.must(err)
	process := s.aloneIn(shared.Kube, addresses[1], admissionFlags(addresses[0])...)
	body, client, path := s.large(), s.stranger(), s.path()
	var all sync.WaitGroup
	answers := make(chan error, largeReviews)
	for range largeReviews {
		all.Go(func() {
			answers <- line.Poll(s.ctx, func(context.Context) error { // who has no turn in time is turned away, and comes again
				code, answer, err := s.ask(client, addresses[0], path+"?timeout=30s", body)
				if err == nil && code != http.StatusOK {
					err = fmt.Errorf("a large review is answered %d %s", code, answer)
				}
				return err
			})
		})
	}
	all.Wait()
	close(answers)
	for err := range answers {
		s.must(err)
	}
	if code, answer, err := s.ask(client, addresses[0], path, s.forged(s.ns, "large-0")); err != nil || code != http.StatusOK || !strings.Contains(answer, `"patch"`) {
		t.Errorf("afterwards a small review is answered %d %s %v", code, answer, err)
	}
	peak, limit := s.peak(process), s.limit()
	t.Logf("%d reviews of %d MiB: the peak is %d MiB, the limit %d MiB", largeReviews, len(body)>>20, peak>>20, limit>>20)
	if peak > limit {
		t.Errorf("the peak of memory is %d MiB, the chart's limit %d MiB", peak>>20, limit>>20)
	}
}

// large returns the review of an update of a workload that is as large as possible, of Wave and with many large configs.
func (s *site) large() []byte {
	s.t.Helper()
	var configs []string
	for i := range largeConfigs {
		configs = append(configs, fmt.Sprint("large-", i))
	}
	text := stored(manifest(s.ns, "large", "large-0", "1", auto, "wave.pusher.com/update-on-config-change"))
	text = strings.Replace(text, "  annotations:\n", "  annotations:\n    wave.pusher.com/extra-configmaps: "+strings.Join(configs, ",")+"\n", 1)
	text = strings.Replace(text, `{name: A, value: "1"}`, `{name: A, value: "`+strings.Repeat("a", largeBytes)+`"}`, 1)
	before, err := yaml.YAMLToJSON([]byte(text))
	s.must(err)
	var review admissionv1.AdmissionReview
	s.must(json.Unmarshal(s.forged(s.ns, "large-0"), &review))
	review.Request.OldObject.Raw = before
	review.Request.Object.Raw = []byte(strings.Replace(string(before), "example.com/web:1", "example.com/web:2", 1))
	body, err := json.Marshal(review)
	s.must(err)
	return body
}

// peak returns the most memory that a process ever had.
func (s *site) peak(process *os.Process) int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Pid))
	s.must(err)
	_, text, found := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(text)
	if !found || len(fields) < 2 {
		s.must(errors.New("the kernel does not say how much memory the process had"))
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	s.must(err)
	return kib << 10
}

// limit returns the memory limit that the chart gives to the webhook's process.
func (s *site) limit() int64 {
	s.t.Helper()
	rendered, err := exec.CommandContext(s.ctx, helm, "template", "reroll", "../../helm/reroll", "--set", "deploymentMode=roles,nats.url=nats://nats:4222,admission.enabled=true",
		"--show-only", "templates/deployment.yaml").Output()
	s.must(err)
	for _, document := range documents(rendered) {
		var d appsv1.Deployment
		if err := yaml.Unmarshal(document, &d); err != nil || d.Name != "reroll-admission" {
			continue
		}
		if limit, given := d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]; given {
			return limit.Value()
		}
	}
	s.must(errors.New("the chart limits the memory of the webhook's process no more"))
	return 0
}
