//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// served is a Deployment whose program serves what its configuration says, which is in a mounted ConfigMap.
type served struct {
	*site
	// name is that of the Deployment, its container and its ConfigMap; process is how the command line of the program begins.
	name, process string
	// file is the configuration in the container; its base name is the key. content has the number of the edit, and the program serves that at
	// page, a port and a path.
	file, content, page string
	// more is what else is in the ConfigMap.
	more, arguments string
	annotations     []string
	replicas, edits int
	// projected are further sources of the volume.
	projected string
}

// servedManifest has name, folder and key of the file, content, more, arguments, port, path, replicas and projected.
const servedManifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s}
data: {%[3]s: %[4]q, %[5]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[9]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: %[1]s
          image: reroll.test/%[1]s:1
          args: [%[6]s]
          ports: [{name: web, containerPort: %[7]s}]
          readinessProbe: {httpGet: {port: web, path: /%[8]s}, periodSeconds: 1}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
          volumeMounts: [{name: config, mountPath: %[2]s}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: config, projected: {sources: [{configMap: {name: %[1]s}}, %[10]s]}}, {name: tmp, emptyDir: {}}]
`

// newPrometheus reads its rules from the file, and they are in its API.
func newPrometheus(s *site) *served {
	return &served{
		site: s, name: "prometheus", replicas: 1, process: "/prometheus",
		file: "/etc/prometheus/rules.yaml", content: "groups: [{name: all, rules: [{record: edit:%03d, expr: vector(1)}]}]", page: "9090/api/v1/rules",
		more:      `prometheus.yaml: "rule_files: [rules.yaml]"`,
		arguments: "--config.file=/etc/prometheus/prometheus.yaml, --storage.tsdb.path=/tmp, --web.enable-lifecycle",
		annotations: []string{
			"reroll.dev/strategy=http", "reroll.dev/http-reload=POST :web/-/reload",
			"reroll.dev/http-verify=GET :web/metrics prometheus_config_last_reload_success_timestamp_seconds",
		},
	}
}

// newNginx answers with what its configuration says.
func newNginx(s *site) *served {
	return &served{
		site: s, name: "nginx", replicas: 1, process: "nginx: master process " + nginxProgram, file: "/etc/nginx/nginx.conf", page: "8080/",
		content: `daemon off;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxy; fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;
  server { listen 8080; return 200 edit:%03d; }
}
`,
		annotations: []string{"reroll.dev/strategy=exec", `reroll.dev/exec-reload=["nginx","-s","reload"]`},
	}
}

// newReader serves the text, in two pods.
func newReader(s *site) *served {
	return &served{
		site: s, name: "reader", replicas: 2, process: "/reader", file: "/etc/reader/text", page: "8080/", content: "edit:%03d",
		projected: `{downwardAPI: {items: [{path: version, fieldRef: {fieldPath: "metadata.annotations['reroll.dev/refresh']"}}]}}`,
	}
}

// start applies it and waits until it serves.
func (s *served) start() {
	s.t.Helper()
	folder, key := path.Split(s.file)
	port, page, _ := strings.Cut(s.page, "/")
	s.apply(s.ns, fmt.Sprintf(servedManifest, s.name, folder, key, fmt.Sprintf(s.content, 0), s.more, s.arguments, port, page, s.replicas, s.projected))
	s.until(time.Now(), s.serves("edit:000"))
}

// edit changes the ConfigMap and returns what is served when it was read.
func (s *served) edit() (want string, at time.Time) {
	s.t.Helper()
	s.edits++
	patch := fmt.Sprintf(`{"data":{%q:%q}}`, path.Base(s.file), fmt.Sprintf(s.content, s.edits))
	_, err := s.client.CoreV1().ConfigMaps(s.ns).Patch(s.ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
	return fmt.Sprintf("edit:%03d", s.edits), time.Now()
}

// until returns how long after a time a check succeeds, to the fiftieth of a second.
func (s *served) until(began time.Time, check func() error) time.Duration {
	s.t.Helper()
	deadline := time.Now().Add(2 * stepTime)
	for {
		err := check()
		if err == nil {
			return time.Since(began)
		}
		if time.Now().After(deadline) || s.ctx.Err() != nil {
			s.t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// untilFiles returns how long the kubelet alone takes until the pod has the files of an edit, for some edits, with and without a touch of the pod.
func (s *served) untilFiles(edits int, touched bool) (took []time.Duration) {
	s.t.Helper()
	file := fmt.Sprintf("/proc/%d/root%s", s.site.process(s.process), s.file)
	pods := s.client.CoreV1().Pods(s.ns)
	for range edits {
		want, at := s.edit()
		if touched {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"reroll.dev/refresh":%q}}}`, want)
			_, err := pods.Patch(s.ctx, s.pods()[0].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			s.must(err)
		}
		took = append(took, s.until(at, func() error {
			content, err := os.ReadFile(file)
			if err == nil && !strings.Contains(string(content), want) {
				err = fmt.Errorf("%s is not in %s", want, file)
			}
			return err
		}).Round(10*time.Millisecond))
	}
	return took
}

// pods returns its pods.
func (s *served) pods() []corev1.Pod {
	s.t.Helper()
	pods, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app=" + s.name})
	s.must(err)
	return pods.Items
}

// serves returns a check that it has all its pods and no others, and that they are ready and serve a text.
func (s *served) serves(want string) func() error {
	return func() error {
		pods := s.pods()
		if len(pods) != s.replicas {
			return fmt.Errorf("%s has %d pods", s.name, len(pods))
		}
		for _, pod := range pods {
			if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("pod %s is not ready", pod.Name)
			}
			if body, err := s.get(pod, s.page); err != nil || !strings.Contains(body, want) {
				return fmt.Errorf("pod %s serves %q, and not %s: %w", pod.Name, body, want, err)
			}
		}
		return nil
	}
}

// get asks a pod from its node.
func (s *served) get(pod corev1.Pod, page string) (string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pod.Status.PodIP+":"+page, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return string(body), err
}

// started is a metric of Prometheus.
var started = regexp.MustCompile(`(?m)^process_start_time_seconds \S+$`)

// identity returns all that changes when the program is started again: pods, restarts, number of a process and when it says that it started;
// and the revision of the Deployment.
func (s *served) identity() string {
	s.t.Helper()
	d, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, s.name, metav1.GetOptions{})
	s.must(err)
	text := fmt.Sprintf("revision %s, process %d", d.Annotations["deployment.kubernetes.io/revision"], s.site.process(s.process))
	port, _, _ := strings.Cut(s.page, "/")
	for _, pod := range s.pods() {
		metrics, err := s.get(pod, port+"/metrics")
		s.must(err)
		text += fmt.Sprintf(", pod %s, %d restarts %s", pod.UID, pod.Status.ContainerStatuses[0].RestartCount, started.FindString(metrics))
	}
	return text
}

// annotate opts in, and waits until Reroll says how a change would be taken.
func (s *served) annotate(says string, annotations ...string) {
	s.t.Helper()
	s.kubectl(append([]string{"annotate", "--overwrite", "--namespace=" + s.ns, "deployment/" + s.name, "reroll.dev/auto=true"}, annotations...)...)
	s.tells(says, "reroll explain deploy/"+s.name)
}

// take edits, and returns how long it took until the new content is served, and a check that waits for the outcome on record. Pod and process are
// then those from before, unless it rolls.
func (s *served) take(outcome string, rolls bool) (took time.Duration, check func()) {
	s.t.Helper()
	before := s.identity()
	want, at := s.edit()
	return s.until(at, s.serves(want)).Round(10 * time.Millisecond), func() {
		s.t.Helper()
		s.tells(outcome, "reroll get reloads deploy/"+s.name+" -o yaml")
		if after := s.identity(); (after != before) != rolls {
			s.t.Errorf("%s: before: %s; after: %s", outcome, before, after)
		}
	}
}

// TestReload has a real Prometheus, a real nginx and a program of two pods read their configuration again without a restart, in each way that there is,
// next to a roll of the same Deployment and to what their kubelet does alone. It prints how long each takes.
func TestReload(t *testing.T) {
	s := newSite(t)
	prometheus, web, reader := newPrometheus(s), newNginx(s), newReader(s)
	prometheus.start()
	web.start()
	reader.start()
	alone, touched := prometheus.untilFiles(2, false), prometheus.untilFiles(20, true)

	install, _ := s.quickStart()
	s.space()
	s.Follow(t, install+" --set config.hotReload.enabled=true --set config.hotReload.exec=true --set config.hotReload.settle=20s")
	reader.annotate("without a restart (strategy refresh)", "reroll.dev/strategy=refresh")
	reader.page = "8080/files"
	refreshed, checkRefreshed := reader.take("outcome: Refreshed", false)
	checkRefreshed()
	reader.page = "8080/"
	s.must(reader.serves("edit:000")()) // it was not called
	reader.annotate("without a restart (strategy http)", "reroll.dev/strategy=http", "reroll.dev/http-reload=POST :web/reload")

	prometheus.annotate("without a restart (strategy http)", prometheus.annotations...)
	web.annotate("without a restart (strategy exec)", web.annotations...)
	called, checkCalled := prometheus.take("outcome: Verified", false)
	ran, checkRan := web.take("outcome: Called", false)
	both, checkBoth := reader.take("outcome: Called", false)
	checkCalled()
	checkRan()
	checkBoth()
	prometheus.annotate("UpToDate", "reroll.dev/strategy=annotations")
	rolled, checkRolled := prometheus.take("outcome: Reloaded", true)
	checkRolled()

	reader.annotate("without a restart (strategy http)", "reroll.dev/http-verify=GET :web/")
	_, checkProved := reader.take("outcome: Verified", false)
	checkProved()
	reader.content = "bad edit:%03d" // which its programs refuse, and read when they start
	fell, checkFell := reader.take("500 Internal Server Error", true)
	checkFell()
	s.Follow(t, "helm uninstall reroll --namespace reroll --wait --timeout=4m")

	t.Logf(`from an edit until
files in the pod are new, by the kubelet alone: %s
the same with a touch of the pod: %s to %s
files in two pods are new, strategy refresh: %s
Prometheus serves it, strategy http: %s
two pods of another program serve it, strategy http: %s
nginx serves it, strategy exec: %s
only a new Prometheus serves it, after a roll: %s
new pods serve what running ones refuse, with hotReload.settle of 20 s: %s`, alone, slices.Min(touched), slices.Max(touched), refreshed, called, both, ran, rolled, fell)
}
