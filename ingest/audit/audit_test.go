package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

var received = time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)

func options() Options {
	return Options{Cluster: "prod", Received: received, Source: reloader.SourceAudit}
}

func list(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}\n"
}

// item is a complete event with replacements made in it: pairs of old and new text.
func item(t testing.TB, replacements ...string) string {
	t.Helper()
	return replaced(t, `{"level":"Metadata","auditID":"a-1","stage":"ResponseComplete",`+
		`"requestURI":"/api/v1/namespaces/shop/configmaps/settings?fieldManager=kubectl-edit","verb":"patch",`+
		`"user":{"username":"ana","groups":["g"],"extra":{"k":["v"]}},"sourceIPs":["1.1.1.1","10.0.0.7"],"userAgent":"kubectl/v1.37",`+
		`"objectRef":{"resource":"configmaps","namespace":"shop","name":"settings","apiVersion":"v1"},`+
		`"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-21T12:00:00.000000Z",`+
		`"stageTimestamp":"2026-11-21T12:00:00.123456Z","annotations":{"authorization.k8s.io/decision":"allow"}}`, replacements)
}

func replaced(t testing.TB, s string, replacements []string) string {
	t.Helper()
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(s, replacements[i]) {
			t.Fatalf("no %q to replace", replacements[i])
		}
		s = strings.ReplaceAll(s, replacements[i], replacements[i+1])
	}
	return s
}

// hint is the one of item.
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
	userText = `"user":{"username":"ana","groups":["g"],"extra":{"k":["v"]}}`
)

// What cases expect of a hint that differs from that of item.
type change = func(*reloader.Hint)

func withCode(code int) change       { return func(h *reloader.Hint) { h.Code = code } }
func withUser(user string) change    { return func(h *reloader.Hint) { h.Actor.User = user } }
func withID(id string) change        { return func(h *reloader.Hint) { h.AuditID = id } }
func withIP(ip string) change        { return func(h *reloader.Hint) { h.Actor.SourceIP = ip } }
func withAgent(agent string) change  { return func(h *reloader.Hint) { h.Actor.UserAgent = agent } }
func withManager(name string) change { return func(h *reloader.Hint) { h.Actor.FieldManager = name } }
func whenReceived(h *reloader.Hint)  { h.Time = received }
func ofNamespace(verb reloader.Verb) change {
	return func(h *reloader.Hint) { h.Verb, h.Config.Name = verb, "" }
}

func rotated(verb reloader.Verb) change {
	return func(h *reloader.Hint) {
		h.Config, h.Verb = reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop"}, verb
	}
}

func TestEventBecomesHint(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	cases := map[string]struct {
		replace []string
		want    change
	}{
		"as sent": {},
		"Secret":  {[]string{"configmaps\",", "secrets\","}, func(h *reloader.Hint) { h.Config.Kind = reloader.Secret }},
		"update of a PodStatus, whose name does not tell the class": {
			[]string{objectText, podStatusText, verbText, `"verb":"update"`}, rotated(reloader.VerbUpdate),
		},
		"patch of a PodStatus in an older version": {
			[]string{objectText, strings.Replace(podStatusText, `"v1"`, `"v1alpha1"`, 1)}, rotated(reloader.VerbPatch),
		},
		"panic, which may have stored":           {[]string{"ResponseComplete", "Panic", codeText, `"code":500`}, withCode(500)},
		"no responseStatus":                      {[]string{`"responseStatus"`, `"other"`}, withCode(0)},
		"generateName, which nobody tells":       {[]string{verbText, `"verb":"create"`, nameText, `"uid":""`}, ofNamespace(reloader.VerbCreate)},
		"deletecollection":                       {[]string{verbText, `"verb":"deletecollection"`}, ofNamespace(reloader.VerbDeleteCollection)},
		"delete, where the body decides dryRun":  {[]string{verbText, `"verb":"delete"`, queryText, "?dryRun=All"}, func(h *reloader.Hint) { h.Verb, h.Actor.FieldManager = reloader.VerbDelete, "" }},
		"dryRun of another value":                {[]string{queryText, "?dryRun=All&dryRun=x"}, withManager("")},
		"dryRun in the path":                     {[]string{"/api/v1/", "/dryRun=All/v1/"}, nil},
		"query that cannot be parsed":            {[]string{queryText, "?fieldManager=a&dry%zzRun=All;dryRun=All"}, withManager("a")},
		"impersonated":                           {[]string{`"sourceIPs"`, `"impersonatedUser":{"username":"bob"},"sourceIPs"`}, func(h *reloader.Hint) { h.Actor.User, h.Actor.AuthenticatedUser = "bob", "ana" }},
		"impersonating oneself":                  {[]string{`"sourceIPs"`, `"impersonatedUser":{"username":"ana"},"sourceIPs"`}, nil},
		"unknown fields":                         {[]string{`{"level"`, `{"authenticationMetadata":{"x":[{}]},"Stage":7,"AUDITID":[],"level"`}, nil},
		"escaped key":                            {[]string{`"verb"`, `"\u0076erb"`}, nil},
		"repeated key, the last one wins":        {[]string{verbText, `"verb":"get","verb":"patch"`, userText, `"user":7,` + userText}, nil},
		"long audit ID":                          {[]string{"a-1", long}, withID(long[:reloader.MaxAuditIDLength])},
		"control characters in an ID":            {[]string{"a-1", `a\u0000\u001b[31m\u202e-1`}, withID("a[31m-1")},
		"wide characters, none is cut":           {[]string{`"ana"`, `"` + strings.Repeat("€", 200) + `"`}, withUser(strings.Repeat("€", 170))},
		"invalid UTF-8":                          {[]string{`"ana"`, "\"a\xffb\""}, withUser("a\ufffdb")},
		"lone surrogate":                         {[]string{`"ana"`, `"a\ud800b"`}, withUser("a\ufffdb")},
		"other time zone":                        {[]string{timeText, `"stageTimestamp":"2026-11-21T13:00:00.123456+01:00"`}, nil},
		"no time":                                {[]string{`"stageTimestamp"`, `"other"`}, whenReceived},
		"bad time":                               {[]string{timeText, `"stageTimestamp":"yesterday"`}, whenReceived},
		"time of no JSON":                        {[]string{timeText, `"stageTimestamp":"9999-12-31T23:59:59-23:59"`}, whenReceived},
		"time is a number":                       {[]string{timeText, `"stageTimestamp":7`}, whenReceived},
		"code is a fraction, as shippers say it": {[]string{codeText, `"code":200.0`}, nil},
		"code is text":                           {[]string{codeText, `"code":"200"`}, withCode(0)},
		"code is negative":                       {[]string{codeText, `"code":-1`}, withCode(0)},
		"code is no whole number":                {[]string{codeText, `"code":404.5`}, withCode(0)},
		"long user agent":                        {[]string{"kubectl/v1.37", long}, withAgent(long[:reloader.MaxUserAgentLength])},
		"status is a text":                       {[]string{`"responseStatus":{`, `"responseStatus":"OK","other":{`}, withCode(0)},
		"address is a number":                    {[]string{`"10.0.0.7"`, `7`}, withIP("")},
		"addresses are a text":                   {[]string{`["1.1.1.1","10.0.0.7"]`, `"10.0.0.7"`}, withIP("")},
		"user is a text":                         {[]string{`"user":{`, `"user":"ana","other":{`}, withUser("")},
		"audit ID is a number":                   {[]string{`"a-1"`, `7`}, withID("")},
		"URI is a list":                          {[]string{`"requestURI":"`, `"requestURI":[],"other":"`}, withManager("")},
		"annotations are a number":               {[]string{`"annotations":{`, `"annotations":7,"other":{`}, nil},
		"collection, part of it refused": {
			[]string{verbText, `"verb":"deletecollection"`, codeText, `"code":403`},
			func(h *reloader.Hint) { h.Verb, h.Code, h.Config.Name = reloader.VerbDeleteCollection, 403, "" },
		},
		"body that API servers up to 1.36 copy unread": {[]string{`"annotations"`, "\"requestObject\":{\"a\":1,\"a\":\"\xff\"},\"annotations\""}, nil},
		"body replaced by a text":                      {[]string{`"annotations"`, `"responseObject":"skipped-too-big-size-object","annotations"`}, nil},
		"body with brackets in texts":                  {[]string{`"annotations"`, `"requestObject":{"a":"}]\"}\\","b":[{}]},"annotations"`}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(list(item(t, c.replace...))), options())
			want := Result{Hints: []reloader.Hint{hint(c.want)}, Received: 1, Skipped: map[Skip]int{}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEventIsSkipped(t *testing.T) {
	collection := `"verb":"deletecollection"`
	cases := map[string]struct {
		item string
		want Skip
	}{
		"null":                     {"null", SkipMalformed},
		"too deep":                 {item(t, `"annotations"`, `"requestObject":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,"annotations"`), SkipMalformed},
		"too long":                 {item(t, "a-1", strings.Repeat("x", DefaultMaxEventBytes)), SkipMalformed},
		"bad literal":              {item(t, codeText, `"code":2oo`), SkipMalformed},
		"object reference is text": {item(t, objectText, `"objectRef":"configmaps"`), SkipMalformed},
		"name is a number":         {item(t, nameText, `"name":7`), SkipMalformed},
		"stage is a number":        {item(t, `"stage":"ResponseComplete"`, `"stage":7`), SkipMalformed},
		"verb is a list":           {item(t, verbText, `"verb":["patch"]`), SkipMalformed},
		"no stage":                 {item(t, `"stage":`, `"phase":`), SkipNoEvent},
		"request received":         {item(t, "ResponseComplete", "RequestReceived"), SkipStage},
		"null object":              {item(t, objectText, `"objectRef":null`), SkipNoObject},
		"pods":                     {item(t, `"resource":"configmaps"`, `"resource":"pods"`), SkipResource},
		"other group":              {item(t, `"apiVersion":"v1"}`, `"apiGroup":"example.com","apiVersion":"v1"}`), SkipResource},
		"other version":            {item(t, `"apiVersion":"v1"}`, `"apiVersion":"v2"}`), SkipResource},
		"subresource":              {item(t, `"apiVersion":"v1"}`, `"apiVersion":"v1","subresource":"status"}`), SkipResource},
		"creation of a PodStatus":  {item(t, objectText, podStatusText, verbText, `"verb":"create"`), SkipMount},
		"end of all PodStatuses":   {item(t, objectText, podStatusText, verbText, collection), SkipMount},
		"PodStatus of nobody":      {item(t, objectText, strings.Replace(podStatusText, `"name":"web-0-shop-vault",`, "", 1)), SkipBadName},
		"get":                      {item(t, verbText, `"verb":"get"`), SkipVerb},
		"redirect":                 {item(t, codeText, `"code":302`), SkipFailed},
		"forbidden collection":     {item(t, verbText, collection, codeText, `"code":403`, `:"allow"`, `:"forbid"`), SkipFailed},
		"collection of a stranger": {item(t, verbText, collection, codeText, `"code":401`), SkipFailed},
		"collection put off":       {item(t, verbText, collection, codeText, `"code":429`), SkipFailed},
		"dry run, bad query":       {item(t, queryText, "?%zz&a;b&dry%52un=All"), SkipDryRun},
		"dry run of create":        {item(t, queryText, "?dryRun=All", verbText, `"verb":"create"`), SkipDryRun},
		"patch without a name":     {item(t, nameText, `"uid":""`), SkipBadName},
		"NATS wildcard":            {item(t, nameText, `"name":"a.>"`), SkipBadName},
		"no namespace":             {item(t, `"namespace":"shop",`, ``), SkipBadName},
		"Helm release":             {helmRelease(t), SkipHelmRelease},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(list(c.item, item(t))), options())
			want := Result{Hints: []reloader.Hint{hint(nil)}, Received: 2, Skipped: map[Skip]int{c.want: 1}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func helmRelease(t testing.TB) string {
	return item(t, `"resource":"configmaps"`, `"resource":"secrets"`, nameText, `"name":"sh.helm.release.v1.shop.v7"`)
}

func TestRepeatsAreCoalesced(t *testing.T) {
	first := item(t, "a-1", "first")
	last := item(t, "a-1", "last", timeText, `"stageTimestamp":"2026-11-21T11:00:00Z"`)
	for name, c := range map[string]struct {
		between string
		want    int
	}{
		"the same":                       {item(t), 1},
		"another user, a candidate, too": {item(t, `"ana"`, `"bob"`), 2},
		"another verb":                   {item(t, verbText, `"verb":"update"`), 2},
		"unknown outcome, which needs another look": {item(t, codeText, `"code":504`), 2},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(list(first, c.between, last)), options())
			if err != nil || len(got.Hints) != c.want || got.Skipped[SkipRepeated] != 3-c.want {
				t.Fatalf("got %+v, %v; want %d hints", got, err, c.want)
			}
			if got.Hints[0].AuditID != "last" || got.Hints[0].Time.Hour() != 11 {
				t.Errorf("kept %+v, want the last in the body, whatever its clock says", got.Hints[0])
			}
		})
	}
}

func TestBadBodies(t *testing.T) {
	secret := item(t, `"annotations"`, `"requestObject":"secret","annotations"`)
	whole := list(secret)
	for name, c := range map[string]struct{ body, says string }{
		"empty":               {" \n", "empty"},
		"null":                {"null", "not a JSON object"},
		"byte order mark":     {"\ufeff" + whole, "not a JSON object"},
		"cut in an item":      {whole[:len(whole)-30], "is incomplete"},
		"another list":        {whole + whole, "something follows"},
		"one event":           {secret, "not kind EventList"},
		"older version":       {strings.Replace(whole, "audit.k8s.io/v1", "audit.k8s.io/v1beta1", 1), "--audit-webhook-version"},
		"items of an object":  {`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":{"secret":1}}`, "items are not an array"},
		"items twice":         {strings.Replace(whole, `"items"`, `"items":[],"items"`, 1), "items twice"},
		"missing comma":       {list(secret + secret), "not valid JSON"},
		"comma too many":      {list(secret, ""), "not valid JSON"},
		"brackets do not fit": {strings.Replace(whole, "]}\n", "}}\n", 1), "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(c.body), options())
			if !errors.Is(err, ErrMalformed) || errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got error %v, want ErrMalformed with %q", err, c.says)
			}
			if strings.Contains(fmt.Sprint(err), "secret") || !cmp.Equal(Result{}, got) {
				t.Errorf("got %+v, %v; want no result, and nothing of the body", got, err)
			}
		})
	}
}

func TestEmptyLists(t *testing.T) {
	for _, body := range []string{
		list(), `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":null}`, `{"items":[],"apiVersion":"audit.k8s.io/v1","kind":"EventList"}`,
	} {
		if got, err := Decode([]byte(body), options()); err != nil || got.Received != 0 || got.Hints != nil {
			t.Errorf("%s: got %+v, %v; want nothing", body, got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	other := item(t, nameText, `"name":"other"`)
	for name, c := range map[string]struct {
		limits Limits
		items  []string
		want   string
	}{
		"items":   {Limits{MaxItems: 2}, []string{"{}", "{}", "{}"}, "more than 2 events"},
		"hints":   {Limits{MaxHints: 1}, []string{item(t), item(t), other}, "more than 1 different changes"},
		"reached": {Limits{MaxItems: 3, MaxHints: 2, MaxEventBytes: 1000}, []string{item(t), other, item(t)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Limits = c.limits
			got, err := Decode([]byte(list(c.items...)), opts)
			if c.want == "" && (err != nil || len(got.Hints) != 2) || c.want != "" && (!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}
