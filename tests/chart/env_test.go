package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// environment writes each variable as "name=value", "name=field path" or "name=secret/key", with a question mark if it may be missing.
func environment(t *testing.T, values string) []string {
	t.Helper()
	var lines []string
	container := statefulSet(t, decode(t, render(t, "--values", "testdata/"+values+"/values.yaml"))).Spec.Template.Spec.Containers[0]
	for _, v := range container.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil {
			value = fieldOrKey(*from)
		}
		lines = append(lines, v.Name+"="+value)
	}
	return lines
}

func fieldOrKey(from corev1.EnvVarSource) string {
	if from.FieldRef != nil {
		return from.FieldRef.FieldPath
	}
	key := from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
	if from.SecretKeyRef.Optional != nil && *from.SecretKeyRef.Optional {
		key += "?"
	}
	return key
}

func TestEnvironment(t *testing.T) {
	self := []string{"POD_NAME=metadata.name", "POD_NAMESPACE=metadata.namespace"}
	for values, want := range map[string][]string{
		"default": self,
		"full": append(slices.Clone(self),
			"REROLL_WEBHOOK_URL=rolls-urls/webhook-url",
			"REROLL_NOTIFICATIONS_URL=rolls-urls/alert-webhook-url", "REROLL_NOTIFICATIONS_PROXY=rolls-urls/alert-webhook-proxy?"),
		"ha": append(slices.Clone(self),
			"REROLL_NATS_URL=nats-login/nats-url", "REROLL_WEBHOOK_URL=hook/webhook-url",
			"REROLL_NOTIFICATIONS_URL=chat/alert-webhook-url", "REROLL_NOTIFICATIONS_PROXY=chat/alert-webhook-proxy?"),
	} {
		t.Run(values, func(t *testing.T) {
			if diff := cmp.Diff(want, environment(t, values)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// secretsOf returns the Secrets that a chart with these values makes.
func secretsOf(t *testing.T, args ...string) (made []corev1.Secret) {
	t.Helper()
	for _, object := range decode(t, render(t, args...)) {
		if secret, ok := object.(*corev1.Secret); ok {
			made = append(made, *secret)
		}
	}
	return made
}

// TestURLsStandInASecretAlone: whoever posts to a chat's URL speaks in the chat.
func TestURLsStandInASecretAlone(t *testing.T) {
	made := secretsOf(t, "--values", "testdata/full/values.yaml")
	if len(made) != 1 {
		t.Fatalf("%d Secrets, want one", len(made))
	}
	want := map[string]string{
		"webhook-url":         "https://hooks.example.com/2",
		"alert-webhook-url":   "https://alerts.example.com/hook/1",
		"alert-webhook-proxy": "socks5://proxy.example.com:1080",
	}
	if diff := cmp.Diff(want, made[0].StringData); diff != "" {
		t.Errorf("URLs (-want +got):\n%s", diff)
	}
	pod := render(t, "--values", "testdata/full/values.yaml", "--show-only", "templates/statefulset.yaml")
	for _, url := range want {
		if strings.Contains(pod, url) {
			t.Errorf("the pod's own manifest shows %s", url)
		}
	}
}

func TestSecretsOfOthersAreLeftAlone(t *testing.T) {
	for _, values := range []string{"default", "ha"} {
		if made := secretsOf(t, "--values", "testdata/"+values+"/values.yaml"); len(made) > 0 {
			t.Errorf("%s makes Secrets: %v", values, made)
		}
	}
}

// TestNewURLsMakeANewPod: the process reads its environment once.
func TestNewURLsMakeANewPod(t *testing.T) {
	checksum := func(url string) string {
		t.Helper()
		set := statefulSet(t, decode(t, render(t, "--set", "reload.webhook.url="+url)))
		return set.Spec.Template.Annotations["checksum/urls"]
	}
	one, other := checksum("https://example.com/1"), checksum("https://example.com/2")
	if one == "" || one == other {
		t.Errorf("the pod template stays as it is: %q and %q", one, other)
	}
}
