package kube

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzDataManager takes anything for the managed fields of a config. Who is said to have written its data has an entry of the object
// itself whose fields have data.
func FuzzDataManager(f *testing.F) {
	entry := func(manager, time, fields string) string {
		return `[{"manager":"` + manager + `","operation":"Update","apiVersion":"v1","time":"` + time + `","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]`
	}
	for _, seed := range []string{
		entry("kubectl", "2026-11-21T12:00:00Z", `{"f:data":{".":{},"f:k":{}}}`),
		entry("kubectl", "2026-11-21T12:00:00Z", `{"f:binaryData":{},"f:type":{}}`),
		entry("labeler", "2026-11-21T12:00:00Z", `{"f:metadata":{"f:annotations":{"f:data":{}}}}`),
		entry("labeler", "2026-11-21T12:00:00Z", `{"f:metadata":{"f:annotations":{"f:x\"f:data\"":{}}}}`),
		entry("odd", "9999-12-31T23:59:59Z", `"\"f:data\""`),
		`[{"manager":"x","time":null,"fieldsV1":{"f:data":{}}},{"manager":"y","subresource":"status","time":"2026-11-21T12:00:00Z","fieldsV1":{"f:data":{}}}]`,
		`[null,{}]`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var entries []metav1.ManagedFieldsEntry
		if json.Unmarshal(data, &entries) != nil {
			return
		}
		manager, at, _ := dataManager(entries)
		if manager == "" && at.IsZero() {
			return
		}
		for _, e := range entries {
			var fields map[string]json.RawMessage
			if e.Manager != manager || e.Subresource != "" || e.Time == nil || !e.Time.Time.Equal(at) || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
				continue
			}
			if fields["f:data"] != nil || fields["f:binaryData"] != nil {
				return
			}
		}
		t.Errorf("%q is said to have written data at %s, by %s", manager, at, data)
	})
}

// FuzzManifest takes anything for the Secret that holds the manifest of a Job. It is refused without a word of what is in it, or it is
// a Job that is kept the same way again.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"import","namespace":"shop"},"spec":{}}`), "u-1", "reroll-job-u-1")
	f.Add([]byte(`{"apiVersion":"batch/v1","kind":"CronJob"}`), "u-1", "reroll-job-u-1")
	f.Add([]byte(`{"kind":"Job","hunter2":"hunter2"`), "u-1", "reroll-job-u-1")
	f.Add([]byte(`{"kind":"Job","metadata":7}`), "", "reroll-job-")
	f.Add([]byte(`{"kind":"Job","items":[{}]}`), "\x00", "x")
	f.Fuzz(func(t *testing.T, job []byte, uid, name string) {
		m, err := parseManifest(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "reroll", Name: name},
			Data:       map[string][]byte{manifestJob: job, manifestUID: []byte(uid)},
		})
		if err != nil {
			if text := err.Error(); strings.Contains(text, "hunter2") && !strings.Contains(name, "hunter2") {
				t.Errorf("the error quotes the manifest: %s", text)
			}
			return
		}
		secret, err := m.secret("reroll")
		if err != nil {
			// What is kept is at least as long as the Job, and escapes make it longer.
			if 8*len(job) > corev1.MaxSecretSize {
				return
			}
			t.Fatal(err)
		}
		again, err := parseManifest(secret)
		if err != nil || again.String() != m.String() || again.uid != m.uid {
			t.Errorf("%v came back as %v, %v", m, again, err)
		}
	})
}
