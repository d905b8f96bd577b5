package webhook

import (
	"crypto/tls"
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
		"good":           {func(*Options) {}, nil},
		"tokens":         {func(o *Options) { o.ClientCAs, o.TokenFile = nil, ca.write("t", []byte("a:0123456789abcdef")) }, nil},
		"insecure":       {func(o *Options) { *o = Options{Address: "127.0.0.1:0", InsecureHTTP: true} }, nil},
		"insecure, IPv6": {func(o *Options) { *o = Options{Address: "[::1]:0", InsecureHTTP: true} }, nil},
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

func TestServerNeedsASink(t *testing.T) {
	if _, err := New(Options{Address: "127.0.0.1:0", InsecureHTTP: true}); err == nil {
		t.Error("a server without a sink was made")
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
