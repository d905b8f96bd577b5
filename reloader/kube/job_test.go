package kube

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// object reads a file of testdata/job as an object.
func object(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "job", file))
	must(t, err)
	if data, err = yaml.YAMLToJSON(data); err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	must(t, obj.UnmarshalJSON(data))
	return obj
}

func TestCleaned(t *testing.T) {
	cases := map[string]struct{ reason, live, want string }{
		"generated selector": {
			"what the API server wrote goes; the owner and fields of newer API servers stay", "live.yaml", "cleaned.yaml",
		},
		"manual selector": {"labels and selector are the author's", "live-manual.yaml", "cleaned-manual.yaml"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			live := object(t, test.live)
			before := live.DeepCopy()
			same(t, test.reason, object(t, test.want).Object, cleaned(live).Object)
			same(t, "the live object was changed", before.Object, live.Object)
		})
	}
}

// ring returns digest keys of a test.
func ring(t testing.TB) *digest.Ring {
	t.Helper()
	r, err := digest.NewRing(bytes.Repeat([]byte("k"), digest.KeySize))
	must(t, err)
	return r
}

// TestBackup: what is stored of a Job comes back, unless anything of it was changed. Errors do not quote it, and neither does its name.
func TestBackup(t *testing.T) {
	b := backup{Job: object(t, "cleaned.yaml"), UID: "11-22", Version: "33", Kept: time.Date(2026, time.November, 22, 20, 0, 0, 0, time.UTC)}
	if text := fmt.Sprint(b); text != "Job shop/import" {
		t.Errorf("printed as %q", text)
	}
	secret, err := b.secretIn("own", ring(t))
	must(t, err)
	got, err := backupIn(secret, ring(t))
	must(t, err)
	if diff := cmp.Diff(b, got, cmp.AllowUnexported(backup{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hostile := []byte(`{"job":["hunter2"],"uid":"hunter2"}`)
	for name, change := range map[string]func(*corev1.Secret){
		"no signature":   func(s *corev1.Secret) { delete(s.Data, signatureKey) },
		"made up":        func(s *corev1.Secret) { s.Data[signatureKey] = bytes.Repeat([]byte("x"), 32) },
		"cut":            func(s *corev1.Secret) { s.Data[backupKey] = s.Data[backupKey][:40] },
		"another's name": func(s *corev1.Secret) { s.Name = "reroll-job-44" },
		"signed, and no Job": func(s *corev1.Secret) {
			s.Data[backupKey], s.Data[signatureKey] = hostile, ring(t).Signatures([]byte(s.Name), hostile)[0]
		},
	} {
		changed := secret.DeepCopy()
		change(changed)
		if _, err := backupIn(changed, ring(t)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Version = strings.Repeat("x", corev1.MaxSecretSize-len(secret.Data[backupKey])-len(secret.Data[signatureKey])+len(b.Version))
	if _, err := b.secretIn("own", ring(t)); err != nil {
		t.Errorf("as large as a Secret may be: %v", err)
	}
	b.Version += "x"
	if _, err := b.secretIn("own", ring(t)); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("larger by one byte: %v", err)
	}
}
