package audit

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// nested returns JSON that is depth levels deep, objects and arrays in turn. Its texts have what must not be taken for nesting.
func nested(depth int) string {
	var open, shut strings.Builder
	for level := range depth {
		if level%2 == 0 {
			open.WriteString(`{"}\"]":`)
		} else {
			open.WriteString(`["[{\\",`)
		}
	}
	for level := range depth {
		if (depth-1-level)%2 == 0 {
			shut.WriteString("}")
		} else {
			shut.WriteString("]")
		}
	}
	return open.String() + "1" + shut.String()
}

func TestDeepEventsAreRead(t *testing.T) {
	places := map[string]func(value string) []string{
		"request object":     func(v string) []string { return []string{`"annotations"`, `"requestObject":` + v + `,"annotations"`} },
		"last of the event":  func(v string) []string { return []string{`"allow"}}`, `"allow"},"responseObject":` + v + `}`} },
		"first of the event": func(v string) []string { return []string{`{"level"`, `{"x":` + v + `,"level"`} },
		"user's extra":       func(v string) []string { return []string{`{"k":["v"]}`, v} },
		"odd user":           func(v string) []string { return []string{`"user":{`, `"user":[` + v + `],"user":{`} },
		"odd addresses":      func(v string) []string { return []string{`"sourceIPs"`, `"sourceIPs":[` + v + `],"sourceIPs"`} },
		"response status":    func(v string) []string { return []string{codeText, codeText + `,"details":` + v} },
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			for _, depth := range []int{9_990, 9_995, 9_996, 9_997, 9_998, 10_000, 20_000} {
				deep := item(t, place(nested(depth))...)
				other := item(t, nameText, `"name":"other"`)
				body := list(other, deep, strings.Replace(deep, "settings", "again", 2))
				got, err := Decode(strings.NewReader(body), options())
				want := Result{Hints: []reloader.Hint{named("other"), named("settings"), named("again")}, Received: 3, Skipped: map[Skip]int{}}
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Fatalf("%d levels: %v (-want +got):\n%s", depth, err, diff)
				}
			}
		})
	}
}

func named(name string) reloader.Hint {
	return hint(func(h *reloader.Hint) { h.Config.Name = name })
}

func TestDeepItemsOfTheWrongTypeAreSkipped(t *testing.T) {
	for name, bad := range map[string]string{
		"an array":             "[" + nested(10_000) + "]",
		"an array as its verb": item(t, verbText, `"verb":[`+nested(10_000)+`]`),
		"an array in its name": item(t, nameText, `"name":[`+nested(10_000)+`]`),
		"an array of objects":  item(t, `"objectRef":{`, `"objectRef":[`+nested(10_000)+`],"other":{`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(strings.NewReader(list(item(t), bad, item(t, nameText, `"name":"other"`))), options())
			want := Result{Hints: []reloader.Hint{named("settings"), named("other")}, Received: 3, Skipped: map[Skip]int{SkipMalformed: 1}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestDeepestObjectOfTheAPIServer posts an object as deep as the API server's own codec takes it.
func TestDeepestObjectOfTheAPIServer(t *testing.T) {
	event := realistic(1, "update")
	raw := []byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))
	event.RequestObject = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	got, err := Decode(bytes.NewReader(encode(t, []auditv1.Event{event, realistic(2, "update")}...)), options())
	if err != nil || len(got.Hints) != 2 {
		t.Errorf("got %d hints, %v; want 2", len(got.Hints), err)
	}
}

func TestDeepBodiesThatAreBad(t *testing.T) {
	broken := errors.New("connection lost")
	deep := `{"requestObject":` + nested(10_000) + "}"
	whole := list(deep, item(t))
	cut := func(at int) io.Reader { return strings.NewReader(whole[:at]) }
	inside := strings.Index(whole, ",1]")
	behind := strings.Index(whole, deep) + len(deep) + 50
	narrow := options()
	narrow.Limits.MaxEventBytes = int64(len(deep)) - 1000
	cases := map[string]struct {
		body io.Reader
		opts Options
		is   error
		says string
	}{
		"cut before the middle": {cut(inside), options(), ErrMalformed, "before it is complete"},
		"cut behind the middle": {cut(inside + 40), options(), ErrMalformed, "before it is complete"},
		"garbage behind it":     {strings.NewReader(list(deep+"x", item(t))), options(), ErrMalformed, "no valid JSON at byte"},
		"garbage within":        {strings.NewReader(list(`{"a":` + strings.Repeat("[", 9_990) + "x")), options(), ErrMalformed, "no valid JSON at byte"},
		"closed as an array":    {strings.NewReader(list(deep[:len(deep)-1]+"]", "{}")), options(), ErrMalformed, "no valid JSON at byte"},
		"too long":              {strings.NewReader(whole), narrow, ErrTooLarge, "longer than"},
		"reader fails within":   {io.MultiReader(cut(inside), iotest.ErrReader(broken)), options(), broken, "connection lost"},
		"reader fails behind":   {io.MultiReader(cut(behind), iotest.ErrReader(broken)), options(), broken, "connection lost"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(c.body, c.opts)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || got.Received != 0 {
				t.Errorf("got %+v, %v; want %v with %q", got, err, c.is, c.says)
			}
		})
	}
}

func TestErrorBehindADeepEventNamesItsPlace(t *testing.T) {
	body := list(`{"requestObject":`+nested(10_000)+"}", item(t)) + "!"
	padded := strings.Repeat(" ", len(nested(10_000))-1) + "1"
	_, err := Decode(strings.NewReader(body), options())
	_, shallow := Decode(strings.NewReader(strings.Replace(body, nested(10_000), padded, 1)), options())
	if err == nil || shallow == nil || err.Error() != shallow.Error() {
		t.Errorf("got %v, want what is said without depth: %v", err, shallow)
	}
}

func TestHowBytesOfADeepEventArriveDoesNotMatter(t *testing.T) {
	body := list(`{"requestObject":`+nested(10_000)+"}", item(t))
	for name, r := range map[string]io.Reader{
		"byte by byte": iotest.OneByteReader(strings.NewReader(body)),
		"at once":      iotest.DataErrReader(strings.NewReader(body)),
	} {
		if got, err := Decode(r, options()); err != nil || len(got.Hints) != 1 || got.Received != 2 {
			t.Errorf("%s: got %+v, %v; want one hint of two events", name, got, err)
		}
	}
}
