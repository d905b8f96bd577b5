package webhook

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongOptionsAreOneClearLine(t *testing.T) {
	ca := newAuthority(t, "CA")
	shown := ca.pair("server", localhost)
	missing := filepath.Join(ca.dir, "missing")
	cases := map[string]struct {
		change func(*Options)
		want   []string
	}{
		"good":     {func(*Options) {}, nil},
		"insecure": {func(o *Options) { *o = Options{Address: "127.0.0.1:0", InsecureHTTP: true} }, nil},
		"insecure, everywhere": {
			func(o *Options) { *o = Options{Address: ":9443", InsecureHTTP: true} },
			[]string{"loopback", `":9443"`, "TLS"},
		},
		"insecure, with TLS": {func(o *Options) { o.InsecureHTTP = true }, []string{"both"}},
		"no port":            {func(o *Options) { o.Address = "localhost" }, []string{"host:port"}},
		"no certificate":     {func(o *Options) { o.Certificate = nil }, []string{"certificate and its key"}},
		"no authentication":  {func(o *Options) { o.ClientCAs = nil }, []string{"anyone", "client CA or a token file"}},
		"missing tokens":     {func(o *Options) { o.TokenFile = missing }, []string{"token file", missing, "no such file"}},
		"bad tokens":         {func(o *Options) { o.TokenFile = ca.write("bt", []byte("prod")) }, []string{"token file", "line 1"}},
		"bad cluster":        {func(o *Options) { o.Clusters = []string{"Prod"} }, []string{"DNS-1123"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := Options{Address: "127.0.0.1:0", Certificate: func() (*tls.Certificate, error) { return &shown, nil }, ClientCAs: ca.pool}
			c.change(&o)
			err := o.Validate()
			if (c.want == nil) != (err == nil) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			for _, part := range c.want {
				if text := err.Error(); !strings.Contains(text, part) || strings.Contains(text, "\n") {
					t.Errorf("got %q, want one line with %q", text, part)
				}
			}
			o.Sink = &sink{}
			if _, second := New(o); (err == nil) != (second == nil) || err != nil && err.Error() != second.Error() {
				t.Errorf("New says %v, Validate says %v", second, err)
			}
		})
	}
}

func TestLoopbackIsCheckedOnTheOpenPort(t *testing.T) {
	server, err := New(Options{Address: "127.0.0.1:0", InsecureHTTP: true, Sink: &sink{}})
	if err != nil {
		t.Fatal(err)
	}
	// As if the name localhost had resolved to all interfaces.
	server.opts.Address = net.JoinHostPort("0.0.0.0", "0")
	if address, err := server.Listen(t.Context()); err == nil {
		t.Errorf("listens on %s", address)
	}
}

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
		"no colon":         {text: "\n" + good, err: "line 2: not of the form"},
		"bad cluster":      {text: "Prod:" + good, err: "line 1: the text before"},
		"short":            {text: "prod:" + good[1:], err: "15 characters"},
		"long":             {text: "prod:" + strings.Repeat("x", maxTokenLength+1), err: "1025 characters"},
		"space":            {text: "prod:" + good + " x", err: "a space"},
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
