package webhook

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTokens(t *testing.T) {
	const good = "0123456789abcdef"
	var many strings.Builder
	for i := range maxTokens + 1 {
		fmt.Fprintf(&many, "prod:%s%d\n", good, i)
	}
	cases := map[string]struct {
		text string
		want map[string]string // token → cluster
		err  string
	}{
		"one":              {text: "prod:" + good, want: map[string]string{good: "prod", good + "x": "", "": ""}},
		"comments":         {text: "# prod:" + good + "\n\n  \nprod:" + good + "1\r\n", want: map[string]string{good: "", good + "1": "prod"}},
		"rotation":         {text: "prod:" + good + "1\nprod:" + good + "2\n", want: map[string]string{good + "1": "prod", good + "2": "prod"}},
		"two clusters":     {text: "a:" + good + "1\nb:" + good + "2\n", want: map[string]string{good + "1": "a", good + "2": "b"}},
		"colon in a token": {text: "a:b:" + good, want: map[string]string{"b:" + good: "a"}},
		"empty":            {text: "", err: "holds no token"},
		"comments only":    {text: "# nothing\n", err: "holds no token"},
		"no colon":         {text: "\n" + good, err: "line 2: not of the form"},
		"bad cluster":      {text: "Prod:" + good, err: "line 1: the text before"},
		"no cluster":       {text: ":" + good, err: "line 1: the text before"},
		"short":            {text: "prod:" + good[1:], err: "15 characters"},
		"long":             {text: "prod:" + strings.Repeat("x", maxTokenLength+1), err: "1025 characters"},
		"space":            {text: "prod:" + good + " x", err: "a space"},
		"umlaut":           {text: "prod:" + good + "ä", err: "printable"},
		"same token twice": {text: "a:" + good + "\nb:" + good, err: "line 2 repeats the token of line 1"},
		"too many":         {text: many.String(), err: "more than 4096"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseTokens([]byte(c.text))
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("got error %v, want %q", err, c.err)
			}
			if err != nil && strings.Contains(err.Error(), good[1:]) {
				t.Errorf("error quotes a token: %v", err)
			}
			for token, cluster := range c.want {
				if got := got.cluster(token); got != cluster {
					t.Errorf("token %q speaks for %q, want %q", token, got, cluster)
				}
			}
		})
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("prod:0123456789abcdef", "0123456789abcdef")
	f.Add("# x\n\nprod:0123456789abcdef\r\ntest:0123456789abcdeg", "x")
	f.Add("prod:0123456789abcde\x00f", "")
	f.Fuzz(func(t *testing.T, text, presented string) {
		got, err := parseTokens([]byte(text))
		if err != nil {
			if len(got) != 0 {
				t.Error("tokens beside an error")
			}
			return
		}
		if cluster := got.cluster(presented); cluster != "" && !strings.Contains(text, cluster+":"+presented) {
			t.Errorf("%q speaks for %q, which %q does not say", presented, cluster, text)
		}
	})
}
