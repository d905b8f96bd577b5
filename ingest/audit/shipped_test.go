package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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
	for name, body := range map[string]string{
		"lines":                     a + "\n" + b + "\n",
		"lines of Windows":          "\r\n" + a + "\r\n\r\n" + b + "\r\n",
		"nothing between":           a + b,
		"array, as of Vector":       "[" + a + "," + b + "]",
		"arrays on lines":           "[" + a + "]\n[" + b + "]\n",
		"indented":                  pretty(a) + "\n" + pretty(b),
		"EventList":                 list(a, b),
		"Fluent Bit, text":          `[{"date":1763726400.1,"log":` + quoted(a+"\n") + `},{"date":1763726400.2,"log":` + quoted(b) + `}]`,
		"Fluent Bit, parsed":        `[{"date":1763726400.1,` + a[1:] + `,{"date":1763726400.2,` + b[1:] + `]`,
		"Fluent Bit, lines":         log(a) + "\n" + log(b) + "\n",
		"Fluent Bit, nested":        `{"log":` + a + `}` + "\n" + `{"log":` + b + `}`,
		"Fluent Bit, text kept":     `{"log":` + quoted(a) + `,` + a[1:] + b,
		"Vector, native":            `{"log":{"message":` + quoted(a) + `,"timestamp":"2026-11-21T12:00:00Z"}}` + "\n" + `{"log":{"message":` + quoted(b) + `}}`,
		"Vector, text":              `[{"message":` + quoted(a) + `,"timestamp":"2026-11-21T12:00:00Z","file":"/a"},{"message":` + quoted(b) + `}]`,
		"time as a number":          `{"timestamp":1763726400,` + a[1:] + "\n" + b,
		"Firehose with CloudWatch":  firehose(zipped(cloudWatch(a)), zipped(cloudWatch(b))),
		"two of them together":      firehose(zipped(cloudWatch(a)) + zipped(cloudWatch(b))),
		"Firehose, plain":           firehose(a+"\n", b+"\n"),
		"Firehose with a processor": firehose(cloudWatch(a, b)),
		"Firehose in Vector":        `[{"message":` + quoted(firehose(zipped(cloudWatch(a, b)))) + `}]`,
		"CloudWatch alone":          cloudWatch(a, b),
		"Event Hubs":                azure(`{"log":`+quoted(truncated)+`,"stream":"stdout","pod":"kube-apiserver-1"}`, `{"log":`+quoted(b)+`}`),
		"Event Hubs, text":          azure(quoted(log(a)), quoted(log(b))),
		"Azure storage account":     `{"category":"kube-audit","properties":{"log":` + quoted(a) + `}}` + "\n" + `{"properties":{"log":` + quoted(b) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped([]byte(body), shippedOptions())
			want := Result{Hints: []reloader.Hint{shippedHint("a"), shippedHint("b")}, Received: 2, Skipped: map[Skip]int{}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
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
		"first line that is cut":    {cut + "\n" + a + "\n" + b + "\n", 1},
		"line cut behind a bracket": {`{"requestObject":[` + "\n" + a + "\n" + b + "\n", 1},
		"rest of a line is no JSON": {a + " x\n" + b + "\n", 1},
		"array of other things":     {"[" + a + `,null,7,true,"x",` + b + "]", 4},
		"log of another program":    {`[{"log":"I1121 starting"},{"log":` + quoted(a) + `},{"log":` + quoted(b) + `}]`, 1},
		"base64 of nothing known":   {firehose("CWL CONTROL MESSAGE", a, b), 1},
		"compressed and cut":        {firehose(zipped(cloudWatch(a))[:40], zipped(a+b)), 1},
		"one too long":              {`{"log":"` + strings.Repeat("x", DefaultMaxEventBytes) + `"}` + a + b, 1},
		"one bad in a list":         {list(a, `{"stage":"x","verb":tru}`, b), 1},
		"too deep":                  {`{"log":` + strings.Repeat(`{"log":`, 20) + a + strings.Repeat("}", 20) + "}\n" + a + "\n" + b, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeShipped([]byte(c.body), shippedOptions())
			want := Result{
				Hints: []reloader.Hint{shippedHint("a"), shippedHint("b")}, Received: 2 + c.malformed, Skipped: map[Skip]int{SkipMalformed: c.malformed},
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestShippedBodiesThatAreBad(t *testing.T) {
	a := shippedEvent(t, "a")
	for name, c := range map[string]struct {
		body   string
		limits Limits
		is     error
		says   string
	}{
		"blank":             {" \n\n", Limits{}, ErrMalformed, "it is empty"},
		"text":              {"audit\nlog\n", Limits{}, ErrMalformed, "not valid JSON"},
		"array that is cut": {"[" + a + ",", Limits{}, ErrMalformed, "incomplete"},
		"cut in one line":   {a[:200], Limits{}, ErrMalformed, "incomplete"},
		"cut between lines": {"{\n \"level\":\n", Limits{}, ErrMalformed, "incomplete"},
		"too many events":   {"[{},{},{}]", Limits{MaxItems: 2}, ErrTooLarge, "more than 2 events"},
		"too many configs":  {a + shippedEvent(t, "b"), Limits{MaxHints: 1}, ErrTooLarge, "more than 1 different changes"},
		"bomb":              {firehose(zipped(strings.Repeat(" ", 10_000))), Limits{MaxInflatedBytes: 9_999}, ErrTooLarge, "decompressed"},
		"many small bombs":  {firehose(zipped(a), zipped(a), zipped(a)), Limits{MaxInflatedBytes: 2 * len(a)}, ErrTooLarge, "decompressed"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := shippedOptions()
			opts.Limits = c.limits
			got, err := DecodeShipped([]byte(c.body), opts)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || got.Received != 0 {
				t.Errorf("got %+v, %v; want %v with %q", got, err, c.is, c.says)
			}
		})
	}
}
