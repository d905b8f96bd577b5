package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

var received = time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)

func options() Options { return Options{Cluster: "prod", Received: received} }

// whenReceived is what an event without a usable time tells.
func whenReceived(h *reloader.Hint) { h.Time = received }

func withCode(code int) func(*reloader.Hint) { return func(h *reloader.Hint) { h.Code = code } }

func list(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}\n"
}

// item is a complete event with replacements made in it: pairs of old and new text.
func item(t testing.TB, replacements ...string) string {
	t.Helper()
	s := `{"level":"Metadata","auditID":"a-1","stage":"ResponseComplete",` +
		`"requestURI":"/api/v1/namespaces/shop/configmaps/settings?fieldManager=kubectl-edit","verb":"patch",` +
		`"user":{"username":"ana","groups":["g"],"extra":{"k":["v"]}},"sourceIPs":["1.1.1.1","10.0.0.7"],"userAgent":"kubectl/v1.37",` +
		`"objectRef":{"resource":"configmaps","namespace":"shop","name":"settings","apiVersion":"v1"},` +
		`"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-21T12:00:00.000000Z",` +
		`"stageTimestamp":"2026-11-21T12:00:00.123456Z","annotations":{"authorization.k8s.io/decision":"allow"}}`
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(s, replacements[i]) {
			t.Fatalf("no %q to replace", replacements[i])
		}
		s = strings.Replace(s, replacements[i], replacements[i+1], 1)
	}
	return s
}

func hint(change func(*reloader.Hint)) reloader.Hint {
	h := reloader.Hint{
		Cluster: "prod",
		Config:  reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"},
		Verb:    reloader.VerbPatch,
		Source:  reloader.SourceAudit,
		Actor:   reloader.Actor{User: "ana", UserAgent: "kubectl/v1.37", SourceIP: "10.0.0.7", FieldManager: "kubectl-edit"},
		AuditID: "a-1", Code: 200,
		Time:     time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC),
		Received: received,
	}
	if change != nil {
		change(&h)
	}
	return h
}

const (
	objectText = `"objectRef":{"resource":"configmaps","namespace":"shop","name":"settings","apiVersion":"v1"}`
	queryText  = `?fieldManager=kubectl-edit`
	// podStatusText is the object of a rotation.
	podStatusText = `"objectRef":{"resource":"secretproviderclasspodstatuses","namespace":"shop","name":"web-0-shop-vault",` +
		`"apiGroup":"secrets-store.csi.x-k8s.io","apiVersion":"v1"}`
	verbText = `"verb":"patch"`
	codeText = `"code":200`
	nameText = `"name":"settings"`
	timeText = `"stageTimestamp":"2026-11-21T12:00:00.123456Z"`
)

func TestEventBecomesHint(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	cases := map[string]struct {
		replace []string
		want    func(*reloader.Hint)
		reason  string
	}{
		"as sent": {reason: "the plain case"},
		"Secret": {
			replace: []string{"configmaps\",", "secrets\","},
			want:    func(h *reloader.Hint) { h.Config.Kind = reloader.Secret }, reason: "both kinds count",
		},
		"update of a PodStatus": {
			replace: []string{objectText, podStatusText, verbText, `"verb":"update"`},
			want: func(h *reloader.Hint) {
				h.Config, h.Verb = reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop"}, reloader.VerbUpdate
			},
			reason: "its name does not tell the class: look at the namespace",
		},
		"patch of a PodStatus in an older version": {
			replace: []string{objectText, strings.Replace(podStatusText, `"v1"`, `"v1alpha1"`, 1)},
			want: func(h *reloader.Hint) {
				h.Config = reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop"}
			},
			reason: "it is the same object in every version",
		},
		"panic": {
			replace: []string{"ResponseComplete", "Panic", codeText, `"code":500`},
			want:    func(h *reloader.Hint) { h.Code = 500 }, reason: "the write may have happened",
		},
		"created by apply": {replace: []string{codeText, `"code":201`}, want: func(h *reloader.Hint) { h.Code = 201 }, reason: "2xx"},
		"timed out": {
			replace: []string{codeText, `"code":504`}, want: func(h *reloader.Hint) { h.Code = 504 },
			reason: "storing goes on behind the answer",
		},
		"no code":   {replace: []string{`"code":200`, `"x":1`}, want: func(h *reloader.Hint) { h.Code = 0 }, reason: "outcome unknown"},
		"null code": {replace: []string{codeText, `"code":null`}, want: func(h *reloader.Hint) { h.Code = 0 }, reason: "outcome unknown"},
		"no responseStatus": {
			replace: []string{`"responseStatus"`, `"other"`}, want: func(h *reloader.Hint) { h.Code = 0 },
			reason: "outcome unknown",
		},
		"name with dots": {
			replace: []string{nameText, `"name":"kube-root-ca.crt"`},
			want:    func(h *reloader.Hint) { h.Config.Name = "kube-root-ca.crt" }, reason: "dots are legal",
		},
		"generateName": {
			replace: []string{verbText, `"verb":"create"`, nameText, `"uid":""`},
			want:    func(h *reloader.Hint) { h.Verb, h.Config.Name = reloader.VerbCreate, "" },
			reason:  "nobody tells the name: look at the namespace",
		},
		"deletecollection": {
			replace: []string{verbText, `"verb":"deletecollection"`, nameText, `"uid":""`},
			want:    func(h *reloader.Hint) { h.Verb, h.Config.Name = reloader.VerbDeleteCollection, "" }, reason: "look at the namespace",
		},
		"deletecollection with a name": {
			replace: []string{verbText, `"verb":"deletecollection"`},
			want:    func(h *reloader.Hint) { h.Verb, h.Config.Name = reloader.VerbDeleteCollection, "" }, reason: "it is still the namespace",
		},
		"delete with dryRun in its URI": {
			replace: []string{verbText, `"verb":"delete"`, queryText, "?dryRun=All"},
			want:    func(h *reloader.Hint) { h.Verb, h.Actor.FieldManager = reloader.VerbDelete, "" },
			reason:  "the API server believes the body instead",
		},
		"dryRun of another value": {
			replace: []string{queryText, "?dryRun=All&dryRun=x"},
			want:    func(h *reloader.Hint) { h.Actor.FieldManager = "" }, reason: "in doubt it is kept",
		},
		"dryRun in the path": {replace: []string{"/api/v1/", "/dryRun=All/v1/"}, reason: "only the query counts"},
		"query that cannot be parsed": {
			replace: []string{queryText, "?fieldManager=a&dry%zzRun=All;dryRun=All"},
			want:    func(h *reloader.Hint) { h.Actor.FieldManager = "a" }, reason: "in doubt it is kept",
		},
		"impersonated": {
			replace: []string{`"sourceIPs"`, `"impersonatedUser":{"username":"bob"},"sourceIPs"`},
			want:    func(h *reloader.Hint) { h.Actor.User, h.Actor.AuthenticatedUser = "bob", "ana" }, reason: "the effective user counts",
		},
		"impersonating oneself": {
			replace: []string{`"sourceIPs"`, `"impersonatedUser":{"username":"ana"},"sourceIPs"`},
			reason:  "the same user is told once",
		},
		"unknown fields": {
			replace: []string{`{"level"`, `{"authenticationMetadata":{"x":[{}]},"Stage":7,"AUDITID":[],"level"`},
			reason:  "the schema grows, and keys have a case",
		},
		"escaped key":     {replace: []string{`"verb"`, `"\u0076erb"`}, reason: "it is the same key"},
		"repeated key":    {replace: []string{verbText, `"verb":"get","verb":"patch"`}, reason: "the last one wins"},
		"null text":       {replace: []string{`"userAgent":"kubectl/v1.37"`, `"userAgent":null`}, want: func(h *reloader.Hint) { h.Actor.UserAgent = "" }},
		"null user":       {replace: []string{`"user":{`, `"user":null,"other":{`}, want: func(h *reloader.Hint) { h.Actor.User = "" }},
		"no addresses":    {replace: []string{`["1.1.1.1","10.0.0.7"]`, `null`}, want: func(h *reloader.Hint) { h.Actor.SourceIP = "" }},
		"empty audit ID":  {replace: []string{"a-1", ""}, want: func(h *reloader.Hint) { h.AuditID = "" }, reason: "clients choose it"},
		"long audit ID":   {replace: []string{"a-1", long}, want: func(h *reloader.Hint) { h.AuditID = long[:reloader.MaxAuditIDLength] }},
		"control in ID":   {replace: []string{"a-1", `a\u0000\u001b[31m\u202e-1`}, want: func(h *reloader.Hint) { h.AuditID = "a[31m-1" }},
		"long user agent": {replace: []string{"kubectl/v1.37", long}, want: func(h *reloader.Hint) { h.Actor.UserAgent = long[:reloader.MaxUserAgentLength] }},
		"user of wide characters": {
			replace: []string{`"ana"`, `"` + strings.Repeat("€", 200) + `"`},
			want:    func(h *reloader.Hint) { h.Actor.User = strings.Repeat("€", 170) }, reason: "no character is cut in two",
		},
		"invalid UTF-8": {replace: []string{`"ana"`, "\"a\xffb\""}, want: func(h *reloader.Hint) { h.Actor.User = "a\ufffdb" }},
		"lone surrogate": {
			replace: []string{`"ana"`, `"a\ud800b"`}, want: func(h *reloader.Hint) { h.Actor.User = "a\ufffdb" },
			reason: "one bad text does not cost the batch",
		},
		"other time zone":          {replace: []string{"12:00:00.123456Z", "13:00:00.123456+01:00"}, reason: "times are UTC"},
		"no time":                  {replace: []string{`"stageTimestamp"`, `"other"`}, want: whenReceived, reason: "when it came in is close"},
		"bad time":                 {replace: []string{timeText, `"stageTimestamp":"yesterday"`}, want: whenReceived},
		"time is a number":         {replace: []string{timeText, `"stageTimestamp":7`}, want: whenReceived},
		"time far away":            {replace: []string{timeText, `"stageTimestamp":"9999-01-01T00:00:00Z"`}, want: whenReceived},
		"year 10000 in UTC":        {replace: []string{timeText, `"stageTimestamp":"9999-12-31T23:59:59-23:59"`}, want: whenReceived, reason: "no JSON can hold it"},
		"before the first year":    {replace: []string{timeText, `"stageTimestamp":"0000-01-01T00:00:00+23:59"`}, want: whenReceived, reason: "no JSON can hold it"},
		"code is a fraction":       {replace: []string{codeText, `"code":200.0`}, reason: "some shippers know no other numbers"},
		"code is text":             {replace: []string{codeText, `"code":"200"`}, want: withCode(0), reason: "the outcome is unknown"},
		"code is huge":             {replace: []string{codeText, `"code":1e99`}, want: withCode(0)},
		"code is negative":         {replace: []string{codeText, `"code":-1`}, want: withCode(0)},
		"code is no whole number":  {replace: []string{codeText, `"code":404.5`}, want: withCode(0)},
		"status is a text":         {replace: []string{codeText, `"code":7`, `"responseStatus":{`, `"responseStatus":"OK","other":{`}, want: withCode(0)},
		"address is a number":      {replace: []string{`"10.0.0.7"`, `7`}, want: func(h *reloader.Hint) { h.Actor.SourceIP = "" }, reason: "a client can choose the others"},
		"addresses are a text":     {replace: []string{`["1.1.1.1","10.0.0.7"]`, `"10.0.0.7"`}, want: func(h *reloader.Hint) { h.Actor.SourceIP = "" }},
		"user is a text":           {replace: []string{`"user":{`, `"user":"ana","other":{`}, want: func(h *reloader.Hint) { h.Actor.User = "" }},
		"user's name is a number":  {replace: []string{`"ana"`, `7`}, want: func(h *reloader.Hint) { h.Actor.User = "" }},
		"audit ID is a number":     {replace: []string{`"a-1"`, `7`}, want: func(h *reloader.Hint) { h.AuditID = "" }},
		"URI is a list":            {replace: []string{`"requestURI":"`, `"requestURI":[],"other":"`}, want: func(h *reloader.Hint) { h.Actor.FieldManager = "" }},
		"annotations are a number": {replace: []string{`"annotations":{`, `"annotations":7,"other":{`}},
		"refused part of a collection": {
			replace: []string{verbText, `"verb":"deletecollection"`, codeText, `"code":403`},
			want: func(h *reloader.Hint) {
				h.Verb, h.Code, h.Config.Name = reloader.VerbDeleteCollection, 403, ""
			}, reason: "what came before the one that an admission webhook protects is gone",
		},
		"body that is broken in its own way": {
			replace: []string{`"annotations"`, "\"requestObject\":{\"a\":1,\"a\":\"\xff\"},\"annotations\""},
			reason:  "API servers up to 1.36 copy patches unread",
		},
		"body replaced by a text": {replace: []string{`"annotations"`, `"responseObject":"skipped-too-big-size-object","annotations"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(strings.NewReader(list(item(t, c.replace...))), options())
			if err != nil {
				t.Fatal(err)
			}
			want := Result{Hints: []reloader.Hint{hint(c.want)}, Received: 1, Skipped: map[Skip]int{}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestEventIsSkipped(t *testing.T) {
	cases := map[string]struct {
		item string
		want Skip
	}{
		"null":                     {"null", SkipMalformed},
		"number":                   {"7", SkipMalformed},
		"text":                     {`"skipped-too-big-size-object"`, SkipMalformed},
		"list":                     {"[{}]", SkipMalformed},
		"object reference is text": {item(t, objectText, `"objectRef":"configmaps"`), SkipMalformed},
		"name is a number":         {item(t, nameText, `"name":7`), SkipMalformed},
		"stage is a number":        {item(t, `"stage":"ResponseComplete"`, `"stage":7`), SkipMalformed},
		"verb is a list":           {item(t, verbText, `"verb":["patch"]`), SkipMalformed},
		"no stage":                 {item(t, `"stage":`, `"phase":`), SkipNoEvent},
		"empty":                    {"{}", SkipNoEvent},
		"request received":         {item(t, "ResponseComplete", "RequestReceived"), SkipStage},
		"response started":         {item(t, "ResponseComplete", "ResponseStarted"), SkipStage},
		"no object":                {item(t, `"objectRef"`, `"noObjectRef"`), SkipNoObject},
		"null object":              {item(t, objectText, `"objectRef":null`), SkipNoObject},
		"pods":                     {item(t, `"resource":"configmaps"`, `"resource":"pods"`), SkipResource},
		"other group":              {item(t, `"apiVersion":"v1"}`, `"apiGroup":"example.com","apiVersion":"v1"}`), SkipResource},
		"other version":            {item(t, `"apiVersion":"v1"}`, `"apiVersion":"v2"}`), SkipResource},
		"subresource":              {item(t, `"apiVersion":"v1"}`, `"apiVersion":"v1","subresource":"status"}`), SkipResource},
		"creation of a PodStatus":  {item(t, objectText, podStatusText, verbText, `"verb":"create"`), SkipMount},
		"deletion of a PodStatus":  {item(t, objectText, podStatusText, verbText, `"verb":"delete"`), SkipMount},
		"end of all PodStatuses":   {item(t, objectText, podStatusText, verbText, `"verb":"deletecollection"`), SkipMount},
		"read of a PodStatus":      {item(t, objectText, podStatusText, verbText, `"verb":"get"`), SkipVerb},
		"PodStatus of nobody":      {item(t, objectText, strings.Replace(podStatusText, `"name":"web-0-shop-vault",`, "", 1)), SkipBadName},
		"part of a PodStatus":      {item(t, objectText, strings.Replace(podStatusText, `"apiVersion"`, `"subresource":"status","apiVersion"`, 1)), SkipResource},
		"PodStatus of others":      {item(t, objectText, strings.Replace(podStatusText, "csi.x-k8s", "csi", 1)), SkipResource},
		"SecretProviderClass":      {item(t, objectText, strings.Replace(podStatusText, "classpodstatuses", "classes", 1)), SkipResource},
		"get":                      {item(t, verbText, `"verb":"get"`), SkipVerb},
		"watch":                    {item(t, verbText, `"verb":"watch"`), SkipVerb},
		"conflict":                 {item(t, codeText, `"code":409`), SkipFailed},
		"redirect":                 {item(t, codeText, `"code":302`), SkipFailed},
		"invalid":                  {item(t, codeText, `"code":422`), SkipFailed},
		"forbidden collection":     {item(t, verbText, `"verb":"deletecollection"`, codeText, `"code":403`, `:"allow"`, `:"forbid"`), SkipFailed},
		"collection of a stranger": {item(t, verbText, `"verb":"deletecollection"`, codeText, `"code":401`), SkipFailed},
		"collection put off":       {item(t, verbText, `"verb":"deletecollection"`, codeText, `"code":429`), SkipFailed},
		"dry run":                  {item(t, queryText, "?dryRun=All"), SkipDryRun},
		"dry run, bad query":       {item(t, queryText, "?%zz&a;b&dryRun=All"), SkipDryRun},
		"dry run, timed out":       {item(t, queryText, "?dryRun=All", codeText, `"code":504`), SkipDryRun},
		"dry run of create":        {item(t, queryText, "?dryRun=All", verbText, `"verb":"create"`), SkipDryRun},
		"dry run of update":        {item(t, queryText, "?dryRun=All", verbText, `"verb":"update"`), SkipDryRun},
		"patch without a name":     {item(t, nameText, `"uid":""`), SkipBadName},
		"star":                     {item(t, nameText, `"name":"*"`), SkipBadName},
		"NATS wildcard":            {item(t, nameText, `"name":"a.>"`), SkipBadName},
		"space":                    {item(t, nameText, `"name":"a b"`), SkipBadName},
		"NUL":                      {item(t, nameText, `"name":"a\u0000"`), SkipBadName},
		"umlaut":                   {item(t, nameText, `"name":"ä"`), SkipBadName},
		"upper case":               {item(t, nameText, `"name":"Settings"`), SkipBadName},
		"long name":                {item(t, nameText, `"name":"`+strings.Repeat("a", 254)+`"`), SkipBadName},
		"no namespace":             {item(t, `"namespace":"shop",`, ``), SkipBadName},
		"namespace with a dot":     {item(t, `"namespace":"shop"`, `"namespace":"a.b"`), SkipBadName},
		"Helm release": {
			item(t, `"resource":"configmaps"`, `"resource":"secrets"`, nameText, `"name":"sh.helm.release.v1.shop.v7"`),
			SkipHelmRelease,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			good := item(t)
			got, err := Decode(strings.NewReader(list(c.item, good)), options())
			if err != nil {
				t.Fatal(err)
			}
			want := Result{Hints: []reloader.Hint{hint(nil)}, Received: 2, Skipped: map[Skip]int{c.want: 1}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelmReleasesAreKeptOnRequest(t *testing.T) {
	opts := options()
	opts.KeepHelmReleases = true
	body := list(item(t, `"resource":"configmaps"`, `"resource":"secrets"`, nameText, `"name":"sh.helm.release.v1.shop.v7"`))
	got, err := Decode(strings.NewReader(body), opts)
	if err != nil || len(got.Hints) != 1 {
		t.Fatalf("got %v, %v; want one hint", got, err)
	}
}

func TestRepeatsAreCoalesced(t *testing.T) {
	first := item(t, "a-1", "first")
	last := item(t, "a-1", "last", timeText, `"stageTimestamp":"2026-11-21T11:00:00Z"`)
	cases := map[string]struct {
		between string
		want    int
		reason  string
	}{
		"the same":        {item(t), 1, "the last in the body is the newest, whatever its clock says"},
		"another user":    {item(t, `"ana"`, `"bob"`), 2, "both are candidates"},
		"another agent":   {item(t, "kubectl/v1.37", "helm"), 2, "both are candidates"},
		"another verb":    {item(t, verbText, `"verb":"update"`), 2, "both are worth knowing"},
		"another config":  {item(t, nameText, `"name":"other"`), 2, "both changed"},
		"another kind":    {item(t, "configmaps\",", "secrets\","), 2, "both changed"},
		"unknown outcome": {item(t, codeText, `"code":504`), 2, "a second look stays due"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(strings.NewReader(list(first, c.between, last)), options())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Hints) != c.want || got.Skipped[SkipRepeated] != 3-c.want {
				t.Errorf("got %d hints, %v; want %d: %s", len(got.Hints), got.Skipped, c.want, c.reason)
			}
			if got.Hints[0].AuditID != "last" || got.Hints[0].Time.Hour() != 11 {
				t.Errorf("kept %+v, want the last", got.Hints[0])
			}
		})
	}
}

// TestPodsThatRotateAreOneHint: the driver of a node rotates one pod after the other, and all are about one namespace.
func TestPodsThatRotateAreOneHint(t *testing.T) {
	var items []string
	for i := range 3 {
		items = append(items, item(t, objectText, strings.Replace(podStatusText, "web-0", fmt.Sprint("web-", i), 1)))
	}
	got, err := Decode(strings.NewReader(list(items...)), options())
	if err != nil || len(got.Hints) != 1 || got.Skipped[SkipRepeated] != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadBodies(t *testing.T) {
	head := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1",`
	cases := map[string]struct {
		body string
		want string
	}{
		"empty":            {"", "it is empty"},
		"white space":      {" \n", "it is empty"},
		"null":             {"null", "no object"},
		"array":            {"[]", "no object"},
		"no JSON":          {"audit!", "no valid JSON at byte 0"},
		"byte order mark":  {"\xef\xbb\xbf" + list(), "no valid JSON at byte 0"},
		"cut":              {list(item(t))[:200], "before it is complete"},
		"cut before end":   {head + `"items":[]`, "before it is complete"},
		"cut after items":  {head + `"items":`, "before it is complete"},
		"second document":  {list() + list(), "something follows"},
		"garbage behind":   {list() + "}", "something follows"},
		"too deep":         {head + `"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", "no valid JSON"},
		"single event":     {item(t), "not kind EventList"},
		"other kind":       {strings.Replace(list(), "EventList", "PolicyList", 1), "not kind EventList"},
		"other version":    {strings.Replace(list(), "/v1", "/v1beta1", 1), "--audit-webhook-version"},
		"kind no text":     {strings.Replace(list(), `"EventList"`, "7", 1), "not kind EventList"},
		"items no list":    {head + `"items":{}}`, "items are no array"},
		"items twice":      {head + `"items":[],"items":[]}`, "items twice"},
		"bad escape":       {strings.Replace(list(item(t)), "ana", `secret\q`, 1), "no valid JSON at byte"},
		"control in text":  {strings.Replace(list(item(t)), "ana", "a\x01", 1), "no valid JSON at byte"},
		"key is no text":   {`{7:1}`, "no valid JSON at byte"},
		"missing comma":    {list(item(t) + " " + item(t)), "no valid JSON at byte"},
		"bad in user":      {strings.Replace(list(item(t)), `["1.1.1.1"`, `["1.1.1.1"}`, 1), "no valid JSON at byte"},
		"bad literal code": {strings.Replace(list(item(t)), codeText, `"code":2x`, 1), "no valid JSON at byte"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(strings.NewReader(c.body), options())
			if !errors.Is(err, ErrMalformed) || errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want ErrMalformed with %q", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("error quotes the body: %v", err)
			}
			if diff := cmp.Diff(Result{}, got); diff != "" {
				t.Errorf("result with an error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyLists(t *testing.T) {
	for name, body := range map[string]string{
		"no items":   list(),
		"null items": `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":null}`,
		"late head":  `{"items":[],"apiVersion":"audit.k8s.io/v1","kind":"EventList"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(strings.NewReader(body), options())
			if err != nil || got.Received != 0 || got.Hints != nil {
				t.Errorf("got %+v, %v; want nothing", got, err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	other := item(t, nameText, `"name":"other"`)
	cases := map[string]struct {
		limits Limits
		body   string
		want   string
	}{
		"items":  {Limits{MaxItems: 2}, list("{}", "{}", "{}"), "more than 2 events"},
		"hints":  {Limits{MaxHints: 1}, list(item(t), item(t), other), "more than 1 different changes"},
		"event":  {Limits{MaxEventBytes: 2000}, list("{}", item(t, "a-1", strings.Repeat("x", 2000))), "audit level"},
		"spaces": {Limits{MaxEventBytes: 2000}, list() + strings.Repeat(" ", 9000), "longer than"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Limits = c.limits
			if _, err := Decode(strings.NewReader(c.body), opts); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want ErrTooLarge with %q", err, c.want)
			}
		})
	}
	t.Run("reached and kept", func(t *testing.T) {
		opts := options()
		opts.Limits = Limits{MaxItems: 3, MaxHints: 2, MaxEventBytes: 1000}
		if got, err := Decode(strings.NewReader(list(item(t), other, item(t))), opts); err != nil || len(got.Hints) != 2 {
			t.Errorf("got %+v, %v; want two hints", got, err)
		}
	})
}

func TestReaderErrorsAreTold(t *testing.T) {
	broken := errors.New("connection lost")
	for _, n := range []int{0, 1, 30, 60, 300} {
		body := io.MultiReader(strings.NewReader(list(item(t))[:n]), iotest.ErrReader(broken))
		_, err := Decode(body, options())
		if !errors.Is(err, broken) || errors.Is(err, ErrMalformed) || errors.Is(err, ErrTooLarge) {
			t.Errorf("after %d bytes: got %v, want the reader's error alone", n, err)
		}
	}
}

func TestHowBytesArriveDoesNotMatter(t *testing.T) {
	body := list(item(t), "null", item(t, nameText, `"name":"a\u002db"`))
	want, err := Decode(strings.NewReader(body), options())
	if err != nil || len(want.Hints) != 2 {
		t.Fatal(want, err)
	}
	got, err := Decode(iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(body))), options())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-whole +byte by byte):\n%s", diff)
	}
}
