package reloader_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// wholeCommand has every field set, as no one command has.
var wholeCommand = reloader.Command{
	ID: "k-1", Cluster: "blue", Verb: reloader.CommandRetry, User: "alice", At: at, Workload: storage, Config: prices,
	Namespace: "shop", Selector: "app=till", Until: at.Add(time.Hour), Reason: "audit",
}

var wholeAnswer = reloader.CommandAnswer{
	ID: "k-1", Cluster: "blue", Result: reloader.CommandDone, Message: "rolled", ReloadID: "r-1", Outcome: reloader.ReasonReloaded,
}

func requestedReload() reloader.Reload {
	r := wholeReload
	r.Causes, r.Request = []reloader.Cause{}, &reloader.Request{ID: "k-1", User: "alice", At: at, Reason: "new certificates"}
	return r
}

// TestGoldenCommand: commands, their answers, and what they add to records.
func TestGoldenCommand(t *testing.T) {
	t.Run("command", func(t *testing.T) { golden(t, "command", wholeCommand) })
	t.Run("answer", func(t *testing.T) { golden(t, "command-answer", wholeAnswer) })
	t.Run("reload", func(t *testing.T) { golden(t, "reload-requested", requestedReload()) })
	t.Run("held reload", func(t *testing.T) {
		held := requestedReload()
		held.HeldBy = reloader.ReasonFrozen
		golden(t, "reload-held", held)
	})
}

func FuzzDecodeCommand(f *testing.F)       { fuzz(f, wholeCommand) }
func FuzzDecodeCommandAnswer(f *testing.F) { fuzz(f, wholeAnswer) }

func TestCommandValidates(t *testing.T) {
	base := reloader.Command{ID: "k-1", Cluster: "blue", At: at}
	cases := map[string]struct {
		change func(*reloader.Command)
		wrong  bool
		is     error
	}{
		"freeze":                     {change: func(c *reloader.Command) { c.Verb = reloader.CommandFreeze }},
		"thaw":                       {change: func(c *reloader.Command) { c.Verb = reloader.CommandThaw }},
		"reload":                     {change: func(c *reloader.Command) { c.Verb, c.Workload = reloader.CommandReload, storage }},
		"retry of a config":          {change: func(c *reloader.Command) { c.Verb, c.Config = reloader.CommandRetry, prices }},
		"retry of a workload":        {change: func(c *reloader.Command) { c.Verb, c.Workload = reloader.CommandRetry, storage }},
		"pause of a namespace":       {change: func(c *reloader.Command) { c.Verb, c.Namespace, c.Until = reloader.CommandPause, "shop", at }},
		"resume of all":              {change: func(c *reloader.Command) { c.Verb = reloader.CommandResume }},
		"no verb":                    {change: func(*reloader.Command) {}, wrong: true},
		"unknown verb":               {change: func(c *reloader.Command) { c.Verb = "delete" }, wrong: true},
		"no ID":                      {change: func(c *reloader.Command) { c.Verb, c.ID = reloader.CommandThaw, "" }, wrong: true},
		"reload of nothing":          {change: func(c *reloader.Command) { c.Verb = reloader.CommandReload }, wrong: true, is: reloader.ErrInvalidName},
		"retry of nothing":           {change: func(c *reloader.Command) { c.Verb = reloader.CommandRetry }, wrong: true, is: reloader.ErrInvalidName},
		"pause for ever":             {change: func(c *reloader.Command) { c.Verb, c.Namespace = reloader.CommandPause, "shop" }, wrong: true},
		"pause of no such namespace": {change: func(c *reloader.Command) { c.Verb, c.Namespace, c.Until = reloader.CommandPause, "a.>", at }, wrong: true, is: reloader.ErrInvalidName},
		"cluster with a wildcard":    {change: func(c *reloader.Command) { c.Verb, c.Cluster = reloader.CommandThaw, "*" }, wrong: true, is: reloader.ErrInvalidName},
		"long reason": {change: func(c *reloader.Command) {
			c.Verb, c.Reason = reloader.CommandFreeze, strings.Repeat("x", reloader.MaxCommandReasonLength+1)
		}, wrong: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := base
			tc.change(&c)
			if err := c.Validate(); (err != nil) != tc.wrong || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("Validate: %v, want an error: %t %v", err, tc.wrong, tc.is)
			}
		})
	}
}

func TestRequestIDTellsCommandsApart(t *testing.T) {
	a := reloader.RequestID("blue", "u-1", "k-1")
	if a != reloader.RequestID("blue", "u-1", "k-1") {
		t.Error("the same command has two IDs")
	}
	for _, other := range []string{
		reloader.RequestID("red", "u-1", "k-1"), reloader.RequestID("blue", "u-2", "k-1"), reloader.RequestID("blue", "u-1", "k-2"),
		reloader.ReloadID("blue", "u-1", nil),
	} {
		if a == other {
			t.Errorf("two reloads have the ID %s", a)
		}
	}
}
