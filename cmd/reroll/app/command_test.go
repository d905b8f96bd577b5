package app

import (
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		out  string
		err  string
	}{
		"version":            {args: []string{"version"}, out: "v1.2.3\n"},
		"help":               {args: []string{"--help"}, out: "serve "},
		"help of serve":      {args: []string{"serve", "--help"}, out: "--cluster-name"},
		"sound settings":     {args: []string{"serve", "--check", "--set", "debounce.window=2s"}},
		"misspelt setting":   {args: []string{"serve", "--check", "--set", "debunce.window=2s"}, err: `unknown key "debunce"; did you mean "debounce"?`},
		"unknown subcommand": {args: []string{"server"}, err: `unknown command "server"`},
		"unknown argument":   {args: []string{"serve", "now"}, err: `unknown command "now"`},
		"unknown flag":       {args: []string{"serve", "--no"}, err: "unknown flag: --no"},
		"misspelt flag":      {args: []string{"serve", "--dry-rum"}, err: "unknown flag: --dry-rum"},
		"wrong settings":     {args: []string{"serve", "--components=api"}, err: "nats.url is required"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			cmd := Command("v1.2.3")
			cmd.SetArgs(tc.args)
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err := cmd.ExecuteContext(t.Context())
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if !strings.Contains(out.String(), tc.out) || tc.err != "" && out.Len() > 0 {
				t.Errorf("output %q, want %q", out.String(), tc.out)
			}
		})
	}
}
