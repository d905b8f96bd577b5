package chart_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/line"
)

// webhookOf returns the webhook that some values register.
func webhookOf(t *testing.T, values ...string) admissionregistrationv1.MutatingWebhook {
	t.Helper()
	for _, object := range decode(t, render(t, values...)) {
		if c, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration); ok {
			return c.Webhooks[0]
		}
	}
	t.Fatal("no webhook rendered")
	return admissionregistrationv1.MutatingWebhook{}
}

var quotedKey = regexp.MustCompile(`'([^']+)'`)

// TestWebhookAsksForWhoOptsIn: the API server asks about workloads with any of the annotations by which a dialect is asked for anything, and
// about no others.
func TestWebhookAsksForWhoOptsIn(t *testing.T) {
	for name, tc := range map[string]struct {
		values   []string
		dialects []string
		options  dialect.StakaterOptions
	}{
		"all":          {nil, dialect.All(dialect.StakaterOptions{}).Names(), dialect.StakaterOptions{}},
		"one":          {[]string{"--set", "config.reload.dialects={wave}"}, []string{"wave"}, dialect.StakaterOptions{}},
		"another name": {[]string{"--set", "config.reload.dialects={stakater},config.reload.annotationKeys.auto=example.com/auto"}, []string{"stakater"}, dialect.StakaterOptions{Renamed: map[string]string{"reloader.stakater.com/auto": "example.com/auto"}}},
	} {
		t.Run(name, func(t *testing.T) {
			webhook := webhookOf(t, append(tc.values, "--set", "admission.enabled=true")...)
			var got, want []string
			for _, m := range quotedKey.FindAllStringSubmatch(webhook.MatchConditions[0].Expression, -1) {
				got = append(got, m[1])
			}
			chosen, err := dialect.All(tc.options).Choose(tc.dialects)
			line.Must(t, err)
			for _, d := range chosen {
				want = append(want, optIns(d)...)
			}
			if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
				t.Errorf("annotations (-dialects +chart):\n%s", diff)
			}
		})
	}
}

// optIns returns the annotations of workloads that ask for something, twice those that may be on the pod template instead.
func optIns(d *dialect.Dialect) []string {
	var keys []string
	for _, c := range d.Clauses {
		if c.Do == dialect.Ignore || c.Do == dialect.Forbid || !d.KeepsAnnotation(c.Key) {
			continue
		}
		switch c.On {
		case dialect.OnWorkload:
			keys = append(keys, c.Key)
		case dialect.OnEither, dialect.OnWorkloadElseTemplate:
			keys = append(keys, c.Key, c.Key)
		}
	}
	return keys
}

// TestWebhookKeepsOut: who reloads everything asks about everything, and nobody asks about Reroll's own namespace. The CA that cert-manager writes is
// not taken away by an upgrade.
func TestWebhookKeepsOut(t *testing.T) {
	all := webhookOf(t, "--set", "admission.enabled=true,config.reload.autoAll=true,config.scope.namespacesToIgnore={infra}")
	if len(all.MatchConditions) > 0 {
		t.Errorf("conditions %v", all.MatchConditions)
	}
	if diff := cmp.Diff([]string{namespace, "kube-system", "infra"}, all.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
		t.Errorf("namespaces that are left out (-want +got):\n%s", diff)
	}
	if ca := webhookOf(t, "--set", "admission.enabled=true,admission.tls.existingSecret=webhook").ClientConfig.CABundle; ca != nil {
		t.Errorf("the chart writes the CA %q", ca)
	}
}
