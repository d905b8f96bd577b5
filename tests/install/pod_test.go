package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// pod is a reroll process that stands for the pod of the chart, which nothing here runs: it has its flags, its environment, the files of
// its Secret and its rights.
type pod struct {
	ingest, api, ops string
	log              journal
}

// journal is what the process says.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newPod(t *testing.T) *pod {
	t.Helper()
	addresses, err := port.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	return &pod{ingest: addresses[0], api: "http://" + addresses[1], ops: "http://" + addresses[2]}
}

// start starts the process as the chart's StatefulSet says, and waits until it is ready.
func (p *pod) start(ctx context.Context, t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	set, err := cluster.Client().AppsV1().StatefulSets("reroll").Get(ctx, "reroll", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	template := set.Spec.Template.Spec
	cmd := exec.CommandContext(t.Context(), binary, p.arguments(ctx, t, cluster, template)...)
	cmd.Env = append(os.Environ(), environment(template.Containers[0])...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = line.Poll(ready, func(ctx context.Context) error {
		_, err := fetch(ctx, p.ops+"/readyz")
		return err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log.String())
	}
}

// arguments are those of the pod, with files and addresses that are here, and its rights.
func (p *pod) arguments(ctx context.Context, t *testing.T, cluster *kube.Cluster, template corev1.PodSpec) []string {
	t.Helper()
	account := "system:serviceaccount:reroll:" + template.ServiceAccountName
	kubeconfig, err := cluster.UserKubeconfig(account, "system:serviceaccounts", "system:serviceaccounts:reroll", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	mounts := p.mount(ctx, t, cluster, template)
	var args []string
	for _, arg := range template.Containers[0].Args {
		for path, dir := range mounts {
			arg = strings.ReplaceAll(arg, "="+path, "="+dir)
		}
		args = append(args, arg)
	}
	return append(args, "--kubeconfig="+kubeconfig, "--ingest-address="+p.ingest,
		"--api-address="+strings.TrimPrefix(p.api, "http://"), "--metrics-address="+strings.TrimPrefix(p.ops, "http://"))
}

// mount makes a folder for each volume of the pod, with the files of a Secret as the kubelet would, and returns the folders by path.
func (p *pod) mount(ctx context.Context, t *testing.T, cluster *kube.Cluster, template corev1.PodSpec) map[string]string {
	t.Helper()
	mounts := map[string]string{}
	for _, m := range template.Containers[0].VolumeMounts {
		mounts[m.MountPath] = t.TempDir()
		for _, v := range template.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil {
				config, err := cluster.Client().CoreV1().ConfigMaps("reroll").Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for key, content := range config.Data {
					if err := os.WriteFile(filepath.Join(mounts[m.MountPath], key), []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if v.Name != m.Name || v.Secret == nil {
				continue
			}
			secret, err := cluster.Client().CoreV1().Secrets("reroll").Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
			if apierrors.IsNotFound(err) && v.Secret.Optional != nil && *v.Secret.Optional {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for key, content := range secret.Data {
				if err := os.WriteFile(filepath.Join(mounts[m.MountPath], key), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return mounts
}

// environment is that of a container.
func environment(container corev1.Container) (variables []string) {
	fields := map[string]string{"metadata.name": "reroll-0", "metadata.namespace": "reroll"}
	for _, v := range container.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			value = fields[v.ValueFrom.FieldRef.FieldPath]
		}
		variables = append(variables, v.Name+"="+value)
	}
	return variables
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return body, nil
}

// get reads a URL of the REST API.
func get(ctx context.Context, url string) (answer map[string]any, err error) {
	body, err := fetch(ctx, url)
	if err != nil {
		return nil, err
	}
	return answer, json.Unmarshal(body, &answer)
}
