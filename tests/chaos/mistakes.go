package main

import "time"

// trials are what somebody could break without noticing, each with a run in which it shows.
var trials = []trial{{
	name: "half of the events never come",
	set: func(o *options) {
		o.KillEvery, o.APIServerEvery = 0, 0
		o.Weather = &weather{Unruly: true, Drop: 0.5}
	},
	mistakes: []mistake{
		{"the sweep believes what it remembers", lost, []edit{{
			"dispatcher/sweep.go",
			"if meta, there := listed[c]; !d.asSeen(c, meta, there) {",
			"if meta, there := listed[c]; false && !d.asSeen(c, meta, there) {",
		}}},
		{"nobody sweeps", lost, []edit{{"dispatcher/sweep.go", "if d.SweepInterval <= 0 {", "if d.SweepInterval != 0 {"}}},
		{"nobody compares digests", doubled, []edit{
			{"dispatcher/verify.go", "case !old.New.Equal(now):", "case len(hints) > 0 || !old.New.Equal(now):"},
			{"dispatcher/plan.go", "case !force && same && !e.contradicts(handled, held, versionOf(s.latest)):", "case same && handled.Sum == \"never\":"},
		}},
	},
}, {
	name: "every request has the same audit ID",
	set: func(o *options) {
		o.KillEvery, o.APIServerEvery, o.Sweep = 0, 0, 0
		o.Weather = &weather{}
	},
	mistakes: []mistake{{"hints are told apart by the audit ID", lost, []edit{{
		"reloader/queue/hints.go",
		"return message{traced(newMessage(subject, \"hint\", h.Cluster, h.Time, data), h), identity(h)}, nil",
		"m := newMessage(subject, \"hint\", h.Cluster, h.Time, data)\n\tm.Header.Set(\"Nats-Msg-Id\", h.AuditID)\n\treturn message{traced(m, h), identity(h)}, nil",
	}}}},
}, {
	name: "ingest is killed and nobody sweeps",
	set: func(o *options) {
		o.Roles, o.Victims, o.KillEvery, o.APIServerEvery, o.Sweep = true, []string{"ingest"}, time.Second, 0, 0
		o.Configs, o.Workloads, o.Away, o.Patience = 60, 60, shortAbsence, 3*time.Second
		o.Weather = &weather{}
	},
	mistakes: []mistake{{"ingest answers before it has stored", lost, []edit{{
		"ingest/webhook/handler.go",
		"err := h.opts.Sink.Put(ctx, result.Hints)",
		"var err error\n\t\tgo func(ctx context.Context) {\n\t\t\ttime.Sleep(200 * time.Millisecond)\n\t\t\t_ = h.opts.Sink.Put(ctx, result.Hints)\n\t\t}(context.WithoutCancel(ctx))",
	}}}},
}, {
	name: "each config is edited once and nobody sweeps",
	set: func(o *options) {
		o.Configs, o.Workloads, o.Updates, o.KillEvery, o.APIServerEvery, o.Sweep = 60, 60, 40, 0, 0, 0
		o.Weather = &weather{}
	},
	mistakes: []mistake{{"it is ready without baselines", lost, []edit{
		{"dispatcher/track.go", "if d.index.put(t, interest) {", "if d.index.put(t, interest) && false {"},
		{"dispatcher/sweep.go", "\tfor _, ref := range d.index.refs(&d.mu) {\n\t\td.edgesQ.Add(ref)\n\t}\n", ""},
	}}},
}, {
	name: "killed while it waits",
	set: func(o *options) {
		o.Configs, o.Workloads, o.Window, o.KillEvery, o.APIServerEvery = 60, 60, 500*time.Millisecond, 800*time.Millisecond, 0
		o.Away = shortAbsence
		o.Weather = &weather{}
	},
	mistakes: []mistake{
		{"what waits is kept in memory alone", lost, []edit{{
			"dispatcher/edges.go", "case !doubtful && stored.Change.ID != \"\":", "case !doubtful && stored.Change.ID == \"none\":",
		}}},
		{"the record is written before the patch", lost, []edit{
			{"dispatcher/roll.go", "\t\"strings\"\n", "\t\"strings\"\n\t\"time\"\n"},
			{
				"dispatcher/roll.go",
				"\trolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{",
				`	d.mu.Lock()
	for _, s := range rolling {
		t.handled[s.config] = reloader.Handled{KeyID: s.latest.New.KeyID, Sum: s.sum(), How: reloader.ReasonReloaded, At: time.Now(), Mark: s.mark}
	}
	early := d.record(t)
	d.mu.Unlock()
	_ = d.Records.PutWorkload(ctx, early)
	time.Sleep(200 * time.Millisecond)
	rolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{`,
			},
		}},
		{"what the workload says of who brought it where is not looked at", doubled, []edit{
			{"dispatcher/evidence.go", "e := evidence{brought: strategy.BroughtVersion(target, c), target:", "e := evidence{target:"},
			{"dispatcher/evidence.go", "e.others = d.othersMarked(t, w)", "e.others = false"},
			{"dispatcher/evidence.go", "\te.died = ", "\te.fresh = false\n\te.died = "},
		}},
	},
}, {
	name: "somebody else writes the workloads",
	set: func(o *options) {
		o.Configs, o.Workloads, o.Others, o.KillEvery, o.APIServerEvery = 4, 4, 100, 0, 0
		o.Weather = &weather{}
	},
	mistakes: []mistake{{"a conflict ends it", lost, []edit{{
		"dispatcher/flush.go", "if fateOf(err) == fateStale {", "if fateOf(err) == fateStale {\n\t\t\treturn 0",
	}}}},
}, {
	name: "two of dispatch",
	set: func(o *options) {
		o.Roles, o.HA, o.Sweep, o.KillEvery, o.APIServerEvery = true, true, time.Second, 0, 0
		o.Weather = &weather{Unruly: true}
	},
	mistakes: []mistake{{"both lead, and patches have no precondition", doubled, []edit{
		{"cmd/reroll/app/dispatch.go", "if !s.EnableHA {", "if s.EnableHA || !s.EnableHA {"}, // alone, it is healed
		{"dispatcher/roll.go", "ops := strategy.Precondition(target)", "var ops []strategy.Op"},
	}}},
}, {
	name: "the power is cut",
	set:  func(o *options) { o.Disk, o.Ordeal, o.Configs, o.Weather = ext4, powerCut, 24, &weather{} },
	mistakes: []mistake{{"the store does not wait for the disk", lost, []edit{{
		"reloader/queue/embedded.go", "SyncAlways:         true,", "SyncAlways:         false,",
	}}}},
}}
