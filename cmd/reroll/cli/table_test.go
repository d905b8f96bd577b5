package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	tab := table{columns: []column{{name: "NAME"}, {name: "STATE"}, {name: "MORE", wide: true}}}
	tab.add(text("cart"), cell{"Refused", bad}, text("why"))
	tab.add(text("grüße"), text(""), text("a\x1b[2Jb\nc"))
	cases := map[string]struct {
		wide, headers, colours bool
		want                   string
	}{
		"narrow":   {headers: true, want: "NAME    STATE\ncart    Refused\ngrüße\n"},
		"wide":     {wide: true, headers: true, want: "NAME    STATE     MORE\ncart    Refused   why\ngrüße             a\ufffd[2Jb c\n"},
		"headless": {want: "cart    Refused\ngrüße\n"},
		"painted":  {colours: true, want: "cart    \x1b[31mRefused\x1b[0m\ngrüße\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := tab.write(&b, c.wide, c.headers, c.colours); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestColoursAreForTerminals: what is no terminal gets none, and neither does one that refuses them.
func TestColoursAreForTerminals(t *testing.T) {
	var b strings.Builder
	if coloured(&b) || isTerminal(&b) {
		t.Error("a buffer is taken for a terminal")
	}
	l := newLines(&b, true)
	l.add(cell{"name\x1b[31m", good})
	l.field("Empty", "")
	l.field("Due", "now")
	if want := "\x1b[32mname\ufffd[31m\x1b[0m\n\x1b[2mDue:         \x1b[0mnow\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestCalm: lines stay, and what moves a terminal goes.
func TestCalm(t *testing.T) {
	var b strings.Builder
	n, err := calm{&b}.Write([]byte("a\x1b[31m\n\u009bb\n"))
	if want := "a\ufffd[31m\n\ufffdb\n"; b.String() != want || n != 11 || err != nil {
		t.Errorf("%q %d %v, want %q", b.String(), n, err, want)
	}
	if got := Say(errors.New("no\n way\x1b")); got != "no way\ufffd" {
		t.Errorf("%q", got)
	}
}

func TestTimes(t *testing.T) {
	latency := 1.23456
	for got, want := range map[string]string{
		since(now, now.Add(-90*time.Second)): "90s",
		since(now, now.Add(time.Hour)):       "0s", // a clock that is ahead
		since(now, time.Time{}):              "-",
		exactly(now):                         "2026-11-21T12:00:00Z",
		seconds(&latency):                    "1.235s",
		seconds(nil):                         "-",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestProgressIsForTerminals: a log gets none of it.
func TestProgressIsForTerminals(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	p.next = time.Time{}
	p.say("%d so far", 3)
	p.end()
	if b.Len() > 0 {
		t.Errorf("%q", b.String())
	}
	p = &progress{w: &b}
	p.say("%d so far", 3)
	p.say("%d so far", 4) // too soon to be shown
	p.end()
	if want := "\r\x1b[K3 so far\r\x1b[K"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
