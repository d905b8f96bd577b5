package behaviour

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestForgedApplied: what reroll.dev/applied says counts for nothing once somebody has written it. Reroll says so on the workload, rolls nothing for
// it, rolls the workload once for the next edit, and other workloads do not wait.
func TestForgedApplied(t *testing.T) {
	t.Parallel()
	const check, uid = `"check":"`, `"workload":"`
	signed := func(text string) string {
		unsigned := text[:strings.Index(text, check)+len(check)]
		s := sha256.Sum256([]byte(unsigned + `"}`))
		return unsigned + hex.EncodeToString(s[:4]) + `"}`
	}
	cases := map[string]struct {
		value func(own, other string) string
		want  string
	}{
		"edited":          {func(own, _ string) string { return strings.Replace(own, `"n":1`, `"n":7`, 1) }, "the text is damaged, was edited, or is of another version of Reroll"},
		"cut":             {func(own, _ string) string { return own[:len(own)/2] }, "the text is damaged, was edited, or is of another version of Reroll"},
		"another UID":     {func(_, other string) string { return other }, "the text is that of another workload"},
		"a newer version": {func(own, _ string) string { return strings.Replace(own, `"v1"`, `"v2"`, 1) }, "the text is damaged, was edited, or is of another version of Reroll"},
		"a large text":    {func(own, _ string) string { return own + strings.Repeat(" x", 100<<10) }, "the text is damaged, was edited, or is of another version of Reroll"},
		"a far roll": {func(own, _ string) string {
			return signed(strings.Replace(own, `"n":1`, `"n":18446744073709551615`, 1))
		}, "the text is damaged, was edited, or is of another version of Reroll"},
	}
	s := newRoom(t)
	for name := range cases {
		s.usual(named(name))
	}
	s.usual("other")
	for name, tc := range cases {
		value := tc.value(s.applied(named(name)), s.applied("other"))
		if value == s.applied(named(name)) {
			t.Fatalf("%s: the annotation is as it was: %s", name, value)
		}
		s.KubectlWith(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, stamp, value), "patch", "deployment/"+named(name), "--patch-file=/dev/stdin")
	}
	s.Edit("other", "three")
	for name, tc := range cases {
		s.Await("a problem of "+name, func(ctx context.Context) error {
			problems, err := shared.Reroll.Problems(ctx, s.NS, named(name))
			if err == nil && !strings.Contains(strings.Join(problems, "\n"), stamp+": "+tc.want) {
				err = fmt.Errorf("problems are %q, want one with %q", problems, tc.want)
			}
			return err
		})
	}
	s.Quiet()
	s.changed("other", 2)
	for name := range cases {
		s.changed(named(name), 1)
		s.Edit(named(name), "three")
	}
	s.Quiet()
	for name := range cases {
		s.changed(named(name), 2)
		if strings.Contains(s.applied(named(name)), s.applied("other")[:len(`{"format":"v1",`+uid)+36]) {
			t.Errorf("%s: the roll leaves the annotation as it was", name)
		}
	}
}

// named returns the name of the Deployment of a case.
func named(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

// applied returns what the annotation of a Deployment says.
func (s *room) applied(name string) string {
	s.T.Helper()
	applied := s.Deployment(name).Annotations[stamp]
	if applied == "" {
		s.T.Fatalf("%s was not rolled", name)
	}
	return applied
}

// TestDamagedLedger: entries that cannot be read are set aside under another name and count for nothing. No workload rolls for that, and each rolls once
// for the next edit.
func TestDamagedLedger(t *testing.T) {
	s := newRoom(t)
	s.usual("rolled")
	s.KubectlWith(fill(config+"---"+deployment, "never", "one", "1"), "apply", "-f", "-")
	s.usual("fine")
	s.away(true, false)
	ledger := s.Client().CoreV1().ConfigMaps("default")
	m, err := ledger.Get(s.Ctx(), "reroll-ledger-"+s.NS+".0", metav1.GetOptions{})
	s.Must(err)
	damaged := map[string]string{}
	for _, name := range []string{"rolled", "never"} {
		text := m.Data["Deployment."+name]
		damaged["damaged-Deployment."+name] = text[:len(text)/2]
		m.Data["Deployment."+name] = text[:len(text)/2]
	}
	_, err = ledger.Update(s.Ctx(), m, metav1.UpdateOptions{})
	s.Must(err)
	s.back()
	m, err = ledger.Get(s.Ctx(), m.Name, metav1.GetOptions{})
	s.Must(err)
	for key, text := range damaged {
		if m.Data[key] != text || !strings.HasSuffix(m.Data[strings.TrimPrefix(key, "damaged-")], "}") {
			t.Errorf("%s is not set aside: %v", key, m.Data)
		}
	}
	s.next("rolled", 1)
	s.next("never", 0)
	s.next("fine", 1)
}

// TestLedgerSize: the API server takes a ConfigMap as large and with as many keys as the ledger writes.
func TestLedgerSize(t *testing.T) {
	t.Parallel()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{}}
	for i := range 8000 {
		m.Data[fmt.Sprintf("Deployment.a-workload-of-an-ordinary-name-%d", i)] = strings.Repeat("x", 45)
	}
	if _, err := shared.Kube.Client().CoreV1().ConfigMaps(shared.Kube.Namespace(t)).Create(t.Context(), m, metav1.CreateOptions{FieldManager: "reroll"}); err != nil {
		t.Error(err)
	}
}
