package auditlog

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"strings"
	"testing"
)

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func compress(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // into memory, which cannot fail
	_ = w.Close()
	return b.Bytes()
}

func TestOptionsThatAreRefused(t *testing.T) {
	good := Options{Path: "/log/audit.log", StatePath: "/state/place", Cluster: "prod", Sink: &sink{}}
	cases := map[string]struct {
		change func(*Options)
		says   string
	}{
		"no path":        {func(o *Options) { o.Path = "" }, "both"},
		"no state":       {func(o *Options) { o.StatePath = "" }, "both"},
		"state is log":   {func(o *Options) { o.StatePath = "/log/../log/audit.log" }, "itself"},
		"no cluster":     {func(o *Options) { o.Cluster = "" }, "cluster"},
		"bad cluster":    {func(o *Options) { o.Cluster = "A*" }, "cluster"},
		"no sink":        {func(o *Options) { o.Sink = nil }, "sink"},
		"negative lines": {func(o *Options) { o.Limits.BatchLines = -1 }, "negative"},
		"negative poll":  {func(o *Options) { o.Limits.Poll = -1 }, "negative"},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			o := good
			c.change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error with %q", err, c.says)
			}
		})
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}
