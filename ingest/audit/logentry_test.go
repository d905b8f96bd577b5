package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// entry is an entry of Google Cloud Logging with replacements made in it: pairs of old and new text.
func entry(t testing.TB, replacements ...string) string {
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
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(s, replacements[i]) {
			t.Fatalf("no %q to replace", replacements[i])
		}
		s = strings.ReplaceAll(s, replacements[i], replacements[i+1])
	}
	return s
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
		entry  string
		want   []reloader.Hint
		skip   Skip
		reason string
	}{
		"update":            {entry(t), entryHint(nil), "", "the plain case"},
		"text in an array":  {"[" + quoted(entry(t)) + "]", entryHint(nil), "", "relayed as text"},
		"Pub/Sub push":      {`{"message":{"attributes":{},"data":"` + base64Of(entry(t)) + `","messageId":"1"},"subscription":"s"}`, entryHint(nil), "", "pushed"},
		"Vector of Pub/Sub": {`[{"message":` + quoted(entry(t)) + `,"timestamp":"2026-11-21T12:00:05Z"}]`, entryHint(nil), "", "pulled"},
		"Secret":            {entry(t, "configmaps", "secrets"), entryHint(func(h *reloader.Hint) { h.Config.Kind = reloader.Secret }), "", "both kinds count"},
		"patch":             {entry(t, method, `"methodName":"io.k8s.core.v1.configmaps.patch"`), entryHint(func(h *reloader.Hint) { h.Verb = reloader.VerbPatch }), "", "the verb is the end"},
		"create without a name": {
			entry(t, method, `"methodName":"io.k8s.core.v1.configmaps.create"`, "/configmaps/settings", "/configmaps"),
			entryHint(func(h *reloader.Hint) { h.Verb, h.Config.Name = reloader.VerbCreate, "" }), "", "look at the namespace",
		},
		"rotation":         {entry(t, podStatus...), entryHint(func(h *reloader.Hint) { h.Config.Kind, h.Config.Name = reloader.SecretProviderClass, "" }), "", "look at the namespace"},
		"no status":        {entry(t, status, `"x":{}`), entryHint(nil), "", "none is that of success"},
		"empty status":     {entry(t, status, `"status":{}`), entryHint(nil), "", "none is that of success"},
		"deadline":         {entry(t, status, `"status":{"code":4}`), entryHint(func(h *reloader.Hint) { h.Code = 0 }), "", "nobody knows"},
		"internal":         {entry(t, status, `"status":{"code":13,"message":"x"}`), entryHint(func(h *reloader.Hint) { h.Code = 0 }), "", "nobody knows"},
		"HTTP status":      {entry(t, status, `"status":{"code":504}`), entryHint(func(h *reloader.Hint) { h.Code = 504 }), "", "it is kept"},
		"denied":           {entry(t, status, `"status":{"code":7}`), nil, SkipFailed, "nothing was stored"},
		"conflict":         {entry(t, status, `"status":{"code":10}`), nil, SkipFailed, "nothing was stored"},
		"HTTP conflict":    {entry(t, status, `"status":{"code":409}`), nil, SkipFailed, "nothing was stored"},
		"code as a text":   {entry(t, status, `"status":{"code":"x"}`), entryHint(nil), "", "as without a code"},
		"read":             {entry(t, method, `"methodName":"io.k8s.core.v1.configmaps.get"`), nil, SkipVerb, "it changes nothing"},
		"other resource":   {entry(t, "configmaps", "pods"), nil, SkipResource, "it is no config"},
		"other group":      {entry(t, "core/v1", "apps/v1"), nil, SkipResource, "it is no config"},
		"subresource":      {entry(t, "configmaps/settings", "configmaps/settings/x"), nil, SkipResource, "configs have none"},
		"of no namespace":  {entry(t, "core/v1/namespaces/shop/configmaps/settings", "core/v1/nodes/n"), nil, SkipNoObject, "it is no config"},
		"of another cloud": {entry(t, "core/v1/namespaces/shop/configmaps/settings", "projects/p/zones/z/clusters/c"), nil, SkipNoObject, "the provider's own log"},
		"bad name":         {entry(t, "settings", "a.>"), nil, SkipBadName, "no subject is made of it"},
		"no time":          {entry(t, `"timestamp"`, `"other"`), entryHint(func(h *reloader.Hint) { h.Time = received }), "", "as of every event"},
		"no method":        {entry(t, method, `"x":1`), nil, SkipVerb, "nothing can be told"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped(strings.NewReader(c.entry), shippedOptions())
			want := Result{Hints: c.want, Received: 1, Skipped: map[Skip]int{}}
			if c.skip != "" {
				want.Skipped[c.skip] = 1
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", c.reason, err, diff)
			}
		})
	}
}
