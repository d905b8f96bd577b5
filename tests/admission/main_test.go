package admission

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
	"github.com/reroll-dev/reroll/tests/tools"
)

const (
	// configuration is the name of the MutatingWebhookConfiguration.
	configuration = "reroll"
	// window is the quiet window. Who writes a config and then the workload has to do both within it for them to be one change.
	window = 5 * time.Second
)

var (
	// shared is the line of all tests, each of which has a namespace of its own there.
	shared *line.Line
	// address is where the webhook is.
	address string
	// helm is the real binary.
	helm string
)

func TestMain(m *testing.M) {
	addresses, err := port.Addresses(1)
	if err == nil {
		address = addresses[0]
		helm, err = tools.Path(context.Background(), "helm")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line.Main(m, &shared, line.Options{
		Kube: kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{
			"--components=ingest,dispatch,api,admission", "--set", "admission.address=" + address, "--set", "admission.configuration=" + configuration,
			"--set", "debounce.window=" + window.String(), "--is-Argo-Rollouts", "true",
		},
	}, func(ctx context.Context, l *line.Line) error {
		for _, crd := range []string{"rollouts.argoproj.io", "deploymentconfigs.apps.openshift.io"} {
			if _, err := l.Kube.Kubectl(ctx, "apply", "--filename=../testdata/crds/"+crd+".yaml"); err != nil {
				return err
			}
		}
		return register(ctx)
	})
}

// register makes the configuration of the chart, with the address of this machine in the place of the Service's, and waits until the
// process lets the API server trust it. The API server waits for as long as it can: what a busy machine delays does not go astray.
func register(ctx context.Context) error {
	chart, err := filepath.Abs("../../helm/reroll")
	if err != nil {
		return err
	}
	rendered, err := exec.CommandContext(ctx, helm, "template", "reroll", chart, "--set", "admission.enabled=true,admission.timeoutSeconds=30,config.reload.argoRollouts=true,rbac.deploymentConfigs=true",
		"--show-only", "templates/admission.yaml").Output()
	if err != nil {
		return fmt.Errorf("render the chart: %w", err)
	}
	var webhooks admissionregistrationv1.MutatingWebhookConfiguration
	for _, document := range bytes.Split(rendered, []byte("\n---\n")) {
		var candidate admissionregistrationv1.MutatingWebhookConfiguration
		if err := yaml.Unmarshal(document, &candidate); err == nil && candidate.Kind == "MutatingWebhookConfiguration" {
			webhooks = candidate
		}
	}
	if len(webhooks.Webhooks) != 1 {
		return fmt.Errorf("the chart registers %d webhooks, want 1", len(webhooks.Webhooks))
	}
	// A Secret and a ConfigMap of the tests are in the namespace default, as is the process itself.
	if path := webhooks.Webhooks[0].ClientConfig.Service.Path; path != nil {
		return fmt.Errorf("the chart registers the path %s, which anybody can know", *path)
	}
	url := "https://" + address
	webhooks.Name, webhooks.Webhooks[0].ClientConfig = configuration, admissionregistrationv1.WebhookClientConfig{URL: &url}
	client := shared.Kube.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := client.Create(ctx, &webhooks, metav1.CreateOptions{}); err != nil {
		return err
	}
	return line.Poll(ctx, func(ctx context.Context) error {
		found, err := client.Get(ctx, configuration, metav1.GetOptions{})
		if err == nil && len(found.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = fmt.Errorf("nobody has said which certificate to trust; reroll's log:\n%s", shared.Reroll.Log())
		}
		return err
	})
}
