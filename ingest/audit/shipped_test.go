package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func shippedOptions() Options {
	o := options()
	o.Source = reloader.SourceShipped
	return o
}

// shippedEvent is an audit event about the config called name.
func shippedEvent(t testing.TB, name string) string { return item(t, nameText, `"name":"`+name+`"`) }

func quoted(s string) string {
	b, _ := json.Marshal(s) // texts always can be
	return string(b)
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory, which cannot fail
	_ = w.Close()
	return b.String()
}

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// cloudWatch is what CloudWatch Logs sends for messages, as Firehose passes it on.
func cloudWatch(messages ...string) string {
	var events []string
	for i, m := range messages {
		events = append(events, fmt.Sprintf(`{"id":"%d","timestamp":1763726400123,"message":%s}`, i, quoted(m)))
	}
	return `{"messageType":"DATA_MESSAGE","owner":"1","logGroup":"/aws/eks/shop/cluster","logStream":"kube-apiserver-audit-1",` +
		`"subscriptionFilters":["f"],"logEvents":[` + strings.Join(events, ",") + `]}`
}

// firehose is the body of a request of Firehose.
func firehose(records ...string) string {
	var all []string
	for _, r := range records {
		all = append(all, `{"data":"`+base64Of(r)+`"}`)
	}
	return `{"requestId":"r-1","timestamp":1763726400123,"records":[` + strings.Join(all, ",") + `]}`
}

// azure is a batch of records of an Azure diagnostic setting.
func azure(properties ...string) string {
	var all []string
	for _, p := range properties {
		all = append(all, `{"time":"2026-11-21T12:00:00Z","category":"kube-audit-admin","operationName":"x","properties":`+p+`,"resourceId":"/S"}`)
	}
	return `{"records":[` + strings.Join(all, ",") + `]}`
}

func TestShippedFormats(t *testing.T) {
	a, b := shippedEvent(t, "a"), shippedEvent(t, "b")
	pretty := func(s string) string {
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(s), "", "  "); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	log := func(s string) string { return `{"log":` + quoted(s) + `}` }
	truncated := item(t, nameText, `"name":"a"`, `"annotations"`, `"responseObject":"skipped-too-big-size-object","annotations"`)
	cases := map[string]struct{ body, reason string }{
		"lines":                     {a + "\n" + b + "\n", "an audit log as it is"},
		"lines without an end":      {a + "\n" + b, "the last newline may be missing"},
		"lines of Windows":          {"\r\n" + a + "\r\n\r\n" + b + "\r\n", "white space means nothing"},
		"nothing between":           {a + b, "a stream of JSON"},
		"array":                     {"[" + a + "," + b + "]", "Vector, Fluent Bit"},
		"array over lines":          {"[\n" + a + ",\n" + b + "\n]\n", "the same, for people"},
		"arrays on lines":           {"[" + a + "]\n[" + b + "]\n", "one for each batch"},
		"indented":                  {pretty(a) + "\n" + pretty(b), "an object may have lines itself"},
		"EventList":                 {list(a, b), "the webhook's form, relayed"},
		"EventList, indented":       {pretty(list(a, b)), "the same, for people"},
		"Fluent Bit, text":          {`[{"date":1763726400.1,"log":` + quoted(a+"\n") + `},{"date":1763726400.2,"log":` + quoted(b) + `}]`, "tail without a parser"},
		"Fluent Bit, parsed":        {`[{"date":1763726400.1,` + a[1:] + `,{"date":1763726400.2,` + b[1:] + `]`, "tail with the parser json"},
		"Fluent Bit, lines":         {log(a) + "\n" + log(b) + "\n", "format json_lines"},
		"Fluent Bit, nested":        {`{"log":` + a + `}` + "\n" + `{"log":` + b + `}`, "filter nest"},
		"Fluent Bit, GELF":          {`{"version":"1.1","short_message":` + quoted(a) + `,"host":"n"}` + "\n" + `{"short_message":` + quoted(b) + `}`, "format gelf"},
		"Fluent Bit, stream":        {log(a) + log(b), "format json_stream"},
		"Vector, native":            {`{"log":{"message":` + quoted(a) + `,"timestamp":"2026-11-21T12:00:00Z"}}` + "\n" + `{"log":{"message":` + quoted(b) + `}}`, "codec native_json"},
		"Azure, a record on a line": {`{"category":"kube-audit","properties":{"log":` + quoted(a) + `}}` + "\n" + `{"properties":{"log":` + quoted(b) + `}}`, "as in a storage account"},
		"Vector, text":              {`[{"message":` + quoted(a) + `,"timestamp":"2026-11-21T12:00:00Z","file":"/a"},{"message":` + quoted(b) + `}]`, "source file"},
		"time as a number":          {`{"timestamp":1763726400,` + a[1:] + "\n" + b, "a shipper's time spoils no event"},
		"several in one text":       {log(a + "\n" + b), "a text may hold lines"},
		"Firehose with CloudWatch":  {firehose(zipped(cloudWatch(a)), zipped(cloudWatch(b))), "EKS"},
		"two of them together":      {firehose(zipped(cloudWatch(a)) + zipped(cloudWatch(b))), "compressed parts may follow each other"},
		"Firehose, plain":           {firehose(a+"\n", b+"\n"), "direct put"},
		"Firehose with a processor": {firehose(cloudWatch(a, b)), "CloudWatch decompressed on the way"},
		"CloudWatch alone":          {cloudWatch(a, b), "a function may unpack it"},
		"Azure":                     {azure(`{"log":`+quoted(truncated)+`,"stream":"stdout","pod":"kube-apiserver-1"}`, `{"log":`+quoted(b)+`}`), "AKS"},
		"Azure, properties as text": {azure(quoted(log(a)), quoted(log(b))), "some exports"},
		"Azure in Vector":           {`[{"message":` + quoted(azure(`{"log":`+quoted(a)+`}`, `{"log":`+quoted(b)+`}`)) + `}]`, "an envelope in another"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped(strings.NewReader(c.body), shippedOptions())
			want := Result{Hints: []reloader.Hint{shippedHint("a"), shippedHint("b")}, Received: 2, Skipped: map[Skip]int{}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s: %v (-want +got):\n%s", c.reason, err, diff)
			}
			slow, err := DecodeShipped(iotest.OneByteReader(strings.NewReader(c.body)), shippedOptions())
			if diff := cmp.Diff(got, slow); err != nil || diff != "" {
				t.Errorf("byte by byte: %v (-whole +byte by byte):\n%s", err, diff)
			}
		})
	}
}

func shippedHint(name string) reloader.Hint {
	return hint(func(h *reloader.Hint) { h.Config.Name, h.Source = name, reloader.SourceShipped })
}

func TestShippedBadItemsCostThemselvesAlone(t *testing.T) {
	a, b := shippedEvent(t, "a"), shippedEvent(t, "b")
	cut := a[:100]
	cases := map[string]struct {
		body      string
		malformed int
	}{
		"line that is cut":             {a + "\n" + cut + "\n" + b + "\n", 1},
		"first line that is cut":       {cut + "\n" + a + "\n" + b + "\n", 1},
		"last line that is cut":        {a + "\n" + b + "\n" + cut, 1},
		"line cut behind a bracket":    {`{"requestObject":[` + "\n" + a + "\n" + b + "\n", 1},
		"line that is no JSON":         {"I1121 starting\n" + a + "\n" + b + "\n", 1},
		"rest of a line is no JSON":    {a + " x\n" + b + "\n", 1},
		"array of other things":        {"[" + a + `,null,7,true,"x",` + b + "]", 4},
		"log of another program":       {`[{"log":"I1121 starting"},{"log":` + quoted(a) + `},{"log":` + quoted(b) + `}]`, 1},
		"log that is cut":              {`[{"log":` + quoted(cut) + `},` + a + "," + b + "]", 1},
		"no base64":                    {`{"records":[{"data":"?"},{"data":"` + base64Of(a+b) + `"}]}`, 1},
		"base64 of nothing known":      {firehose("CWL CONTROL MESSAGE", a, b), 1},
		"compressed and cut":           {firehose(zipped(cloudWatch(a))[:40], zipped(a+b)), 1},
		"compressed with a bad header": {firehose("\x1f\x8b\x00", zipped(a+b)), 1},
		"too deep":                     {`{"log":` + strings.Repeat(`{"log":`, 20) + a + strings.Repeat("}", 20) + "}\n" + a + "\n" + b, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped(strings.NewReader(c.body), shippedOptions())
			want := Result{
				Hints: []reloader.Hint{shippedHint("a"), shippedHint("b")}, Received: 2 + c.malformed, Skipped: map[Skip]int{SkipMalformed: c.malformed},
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestWhatLooksLikeAnEnvelopeWithinAnEventIsNone: who writes objects must not be able to make up events of others.
func TestWhatLooksLikeAnEnvelopeWithinAnEventIsNone(t *testing.T) {
	forged := shippedEvent(t, "forged")
	for _, member := range []string{"requestObject", "responseObject", "annotations", "user"} {
		for _, inner := range []string{`{"items":[` + forged + `]}`, `{"data":"` + base64Of(forged) + `"}`, `{"log":` + quoted(forged) + `}`} {
			body := strings.Replace(shippedEvent(t, "a"), `{"level"`, `{"`+member+`":`+inner+`,"level"`, 1)
			got, err := DecodeShipped(strings.NewReader(body), shippedOptions())
			if err != nil || len(got.Hints) != 1 || got.Hints[0].Config.Name != "a" || got.Received != 1 {
				t.Errorf("%s of %.20s: got %+v, %v", member, inner, got, err)
			}
		}
	}
}

func TestEventBesideItsOwnTextIsOneHint(t *testing.T) {
	a := shippedEvent(t, "a")
	got, err := DecodeShipped(strings.NewReader(`{"log":`+quoted(a)+`,`+a[1:]), shippedOptions())
	if err != nil || len(got.Hints) != 1 || got.Skipped[SkipRepeated] != 1 {
		t.Errorf("got %+v, %v; want one hint, told twice", got, err)
	}
}

func TestShippedBodiesWithoutEvents(t *testing.T) {
	for _, body := range []string{"[]", list(), `{"records":[]}`, cloudWatch(), firehose("CWL CONTROL MESSAGE"), firehose()} {
		if got, err := DecodeShipped(strings.NewReader(body), shippedOptions()); err != nil || len(got.Hints) != 0 {
			t.Errorf("%s: got %+v, %v; want nothing, and no error", body, got, err)
		}
	}
}

// TestShippedBodiesOfSomethingElse: events in an envelope that Reroll does not know would be lost without a word. A body that holds nothing else
// is refused; where it holds an event, too, the others are counted.
func TestShippedBodiesOfSomethingElse(t *testing.T) {
	a := shippedEvent(t, "a")
	for name, body := range map[string]string{
		"nothing":       "{}",
		"Splunk":        `{"sourcetype":"audit","event":` + a + `}`,
		"several":       `{"event":` + a + "}\n" + `{"event":` + a + "}\n",
		"CloudEvent":    `{"specversion":"1.0","type":"audit","data":` + a + `}`,
		"CloudEvents":   `[{"specversion":"1.0","type":"audit","data":` + a + `}]`,
		"OTLP":          `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":` + quoted(a) + `}}]}]}]}`,
		"other logs":    `{"log":` + quoted(`{"level":"info","msg":"hello"}`) + `}`,
		"in a Firehose": firehose(`{"event":` + a + `}`),
	} {
		if got, err := DecodeShipped(strings.NewReader(body), shippedOptions()); !errors.Is(err, errNoEvents) || !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %+v, %v; want %v", name, got, err, errNoEvents)
		}
		got, err := DecodeShipped(strings.NewReader(body+"\n"+a), shippedOptions())
		if err != nil || len(got.Hints) != 1 || got.Skipped[SkipNoEvent] == 0 {
			t.Errorf("%s and an event: got %+v, %v; want one hint, and the others counted", name, got, err)
		}
	}
}

func TestShippedBodiesThatAreBad(t *testing.T) {
	broken := errors.New("connection lost")
	a := shippedEvent(t, "a")
	small := func(l Limits) Options {
		o := shippedOptions()
		o.Limits = l
		return o
	}
	cases := map[string]struct {
		body io.Reader
		opts Options
		is   error
		says string
	}{
		"empty":              {strings.NewReader(""), shippedOptions(), ErrMalformed, "it is empty"},
		"blank":              {strings.NewReader(" \n\n"), shippedOptions(), ErrMalformed, "it is empty"},
		"null":               {strings.NewReader("null"), shippedOptions(), ErrMalformed, "neither object nor array"},
		"text":               {strings.NewReader("audit\nlog\n"), shippedOptions(), ErrMalformed, "no valid JSON"},
		"MessagePack":        {strings.NewReader("\x92\xce\x00\x82\xa3log"), shippedOptions(), ErrMalformed, "no valid JSON"},
		"array that is cut":  {strings.NewReader("[" + a + ","), shippedOptions(), ErrMalformed, "before it is complete"},
		"cut in one line":    {strings.NewReader(a[:200]), shippedOptions(), ErrMalformed, "before it is complete"},
		"cut between lines":  {strings.NewReader("{\n \"level\":\n"), shippedOptions(), ErrMalformed, "before it is complete"},
		"too many events":    {strings.NewReader("[{},{},{}]"), small(Limits{MaxItems: 2}), ErrTooLarge, "shipper"},
		"too many configs":   {strings.NewReader(a + shippedEvent(t, "b")), small(Limits{MaxHints: 1}), ErrTooLarge, "shipper"},
		"too long":           {strings.NewReader(a), small(Limits{MaxEventBytes: 100}), ErrTooLarge, "longer than 100"},
		"bomb":               {strings.NewReader(firehose(zipped(strings.Repeat(" ", 10_000)))), small(Limits{MaxInflatedBytes: 9_999}), ErrTooLarge, "decompressed"},
		"many small bombs":   {strings.NewReader(firehose(zipped(a), zipped(a), zipped(a))), small(Limits{MaxInflatedBytes: int64(2 * len(a))}), ErrTooLarge, "decompressed"},
		"reader fails":       {io.MultiReader(strings.NewReader(a+"\n"+a[:50]), iotest.ErrReader(broken)), shippedOptions(), broken, "connection lost"},
		"reader fails first": {iotest.ErrReader(broken), shippedOptions(), broken, "connection lost"},
		"reader fails later": {io.MultiReader(strings.NewReader(a+"\nx y"), iotest.ErrReader(broken)), shippedOptions(), broken, "connection lost"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped(c.body, c.opts)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || got.Received != 0 {
				t.Errorf("got %+v, %v; want %v with %q", got, err, c.is, c.says)
			}
		})
	}
}
