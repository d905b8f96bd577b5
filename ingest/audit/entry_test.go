package audit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// entry is an entry of Google Cloud Logging with replacements made in it: pairs of old and new text.
func logEntry(t testing.TB, replacements ...string) string {
	t.Helper()
	s := `{"insertId":"i-1","logName":"projects/p/logs/cloudaudit.googleapis.com%2Factivity",` +
		`"operation":{"first":true,"id":"i-1","last":true,"producer":"k8s.io"},"protoPayload":{` +
		`"@type":"type.googleapis.com/google.cloud.audit.AuditLog","authenticationInfo":{"principalEmail":"ana@example.com"},` +
		`"authorizationInfo":[{"granted":true,"permission":"io.k8s.core.v1.configmaps.update",` +
		`"resource":"core/v1/namespaces/shop/configmaps/settings"}],"methodName":"io.k8s.core.v1.configmaps.update",` +
		`"requestMetadata":{"callerIp":"10.0.0.7","callerSuppliedUserAgent":"kubectl/v1.37"},` +
		`"resourceName":"core/v1/namespaces/shop/configmaps/settings","serviceName":"k8s.io","status":{"code":0}},` +
		`"receiveTimestamp":"2026-11-21T12:00:09Z","resource":{"labels":{"cluster_name":"c"},"type":"k8s_cluster"},` +
		`"timestamp":"2026-11-21T12:00:00.123456Z"}`
	return replaced(t, s, replacements)
}

func entryHint(change func(*reloader.Hint)) []reloader.Hint {
	h := shippedHint("settings")
	h.Verb, h.AuditID, h.Actor = reloader.VerbUpdate, "", reloader.Actor{User: "ana@example.com", UserAgent: "kubectl/v1.37", SourceIP: "10.0.0.7"}
	if change != nil {
		change(&h)
	}
	return []reloader.Hint{h}
}

func TestLogEntries(t *testing.T) {
	const status, method = `"status":{"code":0}`, `"methodName":"io.k8s.core.v1.configmaps.update"`
	podStatus := []string{
		"core/v1/namespaces/shop/configmaps/settings", "secrets-store.csi.x-k8s.io/v1/namespaces/shop/secretproviderclasspodstatuses/web-0",
	}
	cases := map[string]struct {
		entry string
		want  []reloader.Hint
		skip  Skip
	}{
		"update":            {logEntry(t), entryHint(nil), ""},
		"text in an array":  {"[" + quoted(logEntry(t)) + "]", entryHint(nil), ""},
		"Pub/Sub push":      {`{"message":{"attributes":{},"data":"` + base64Of(logEntry(t)) + `","messageId":"1"},"subscription":"s"}`, entryHint(nil), ""},
		"Vector of Pub/Sub": {`[{"message":` + quoted(logEntry(t)) + `,"timestamp":"2026-11-21T12:00:05Z"}]`, entryHint(nil), ""},
		"Secret":            {logEntry(t, "configmaps", "secrets"), entryHint(func(h *reloader.Hint) { h.Config.Kind = reloader.Secret }), ""},
		"create without a name": {
			logEntry(t, method, `"methodName":"io.k8s.core.v1.configmaps.create"`, "/configmaps/settings", "/configmaps"),
			entryHint(ofNamespace(reloader.VerbCreate)), "",
		},
		"rotation":         {logEntry(t, podStatus...), entryHint(func(h *reloader.Hint) { h.Config.Kind, h.Config.Name = reloader.SecretProviderClass, "" }), ""},
		"no status":        {logEntry(t, status, `"x":{}`), entryHint(nil), ""},
		"deadline":         {logEntry(t, status, `"status":{"code":4}`), entryHint(withCode(0)), ""},
		"HTTP status":      {logEntry(t, status, `"status":{"code":504}`), entryHint(withCode(504)), ""},
		"denied":           {logEntry(t, status, `"status":{"code":7}`), nil, SkipFailed},
		"HTTP conflict":    {logEntry(t, status, `"status":{"code":409}`), nil, SkipFailed},
		"code as a text":   {logEntry(t, status, `"status":{"code":"x"}`), entryHint(nil), ""},
		"other resource":   {logEntry(t, "configmaps", "pods"), nil, SkipResource},
		"other group":      {logEntry(t, "core/v1", "apps/v1"), nil, SkipResource},
		"subresource":      {logEntry(t, "configmaps/settings", "configmaps/settings/x"), nil, SkipResource},
		"of another cloud": {logEntry(t, "core/v1/namespaces/shop/configmaps/settings", "projects/p/zones/z/clusters/c"), nil, SkipNoObject},
		"bad name":         {logEntry(t, "settings", "a.>"), nil, SkipBadName},
		"no time":          {logEntry(t, `"timestamp"`, `"other"`), entryHint(whenReceived), ""},
		"no method":        {logEntry(t, method, `"x":1`), nil, SkipVerb},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped([]byte(c.entry), shippedOptions())
			want := Result{Hints: c.want, Received: 1, Skipped: map[Skip]int{}}
			if c.skip != "" {
				want.Skipped[c.skip] = 1
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
