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
		{
			name:   "the sweep believes what it remembers",
			breaks: "A change without an audit event is applied after one sweep.",
			finds:  lost, by: "Workloads keep the mark of an old content.",
			edits: []edit{{
				"dispatcher/sweep.go",
				"if meta, there := listed[c]; !d.asSeen(c, meta, there) {",
				"if meta, there := listed[c]; false && !d.asSeen(c, meta, there) {",
			}},
		},
		{
			name:   "nobody sweeps",
			breaks: "A change without an audit event is applied after one sweep.",
			finds:  lost, by: "Workloads keep the mark of an old content.",
			edits: []edit{{"dispatcher/sweep.go", "if d.SweepInterval <= 0 {", "if d.SweepInterval != 0 {"}},
		},
		{
			name:   "nobody compares digests",
			breaks: "An edit that leaves the content as it is, such as one of a label, rolls nothing.",
			finds:  doubled, by: "There are more template changes than contents, and some of them change no mark.",
			healed: "The plan compares the digest with the recorded one again.",
			edits: []edit{
				{"dispatcher/verify.go", "case !old.New.Equal(now):", "case len(hints) > 0 || !old.New.Equal(now):"},
				{"dispatcher/plan.go", "case !force && same && !e.contradicts(handled, held, versionOf(s.latest)):", "case same && handled.Sum == \"never\":"},
			},
		},
	},
}, {
	name: "every request has the same audit ID",
	set: func(o *options) {
		o.KillEvery, o.APIServerEvery, o.Sweep = 0, 0, 0
		o.Weather = &weather{}
	},
	mistakes: []mistake{{
		name:   "hints are told apart by the audit ID",
		breaks: "Two requests with the same audit ID are two hints, since clients choose that ID.",
		finds:  lost, by: "The stream drops all hints but the first, and workloads keep the first content.",
		edits: []edit{{
			"reloader/queue/hints.go",
			"return message{traced(newMessage(subject, \"hint\", h.Cluster, h.Time, data), h), identity(h)}, nil",
			"m := newMessage(subject, \"hint\", h.Cluster, h.Time, data)\n\tm.Header.Set(\"Nats-Msg-Id\", h.AuditID)\n\treturn message{traced(m, h), identity(h)}, nil",
		}},
	}},
}, {
	name: "ingest is killed and nobody sweeps",
	set: func(o *options) {
		o.Roles, o.Victims, o.KillEvery, o.APIServerEvery, o.Sweep = true, []string{"ingest"}, time.Second, 0, 0
		o.Configs, o.Workloads, o.Away, o.Patience = 60, 60, shortAbsence, 3*time.Second
		o.Weather = &weather{}
	},
	mistakes: []mistake{{
		name:   "ingest answers before it has stored",
		breaks: "A batch that was answered with 2xx is stored, whenever ingest ends.",
		finds:  lost, by: "Workloads keep the content of before a batch that died with ingest.",
		edits: []edit{{
			"ingest/webhook/handler.go",
			"err := h.opts.Sink.Put(ctx, result.Hints)",
			"var err error\n\t\tgo func(ctx context.Context) {\n\t\t\ttime.Sleep(200 * time.Millisecond)\n\t\t\t_ = h.opts.Sink.Put(ctx, result.Hints)\n\t\t}(context.WithoutCancel(ctx))",
		}},
	}},
}, {
	name: "each config is edited once and nobody sweeps",
	set: func(o *options) {
		o.Configs, o.Workloads, o.Updates, o.KillEvery, o.APIServerEvery, o.Sweep = 60, 60, 40, 0, 0, 0
		o.Weather = &weather{}
	},
	mistakes: []mistake{{
		name:   "it is ready without baselines",
		breaks: "The first change of a config after the process is ready is a change, and not the baseline.",
		finds:  lost, by: "The only change of a config is taken for its baseline, and its workloads get no mark.",
		healed: "Tracking a workload and the sweep at the start both settle its edges.",
		edits: []edit{
			{"dispatcher/track.go", "if d.index.put(t, interest) {", "if d.index.put(t, interest) && false {"},
			{"dispatcher/sweep.go", "\tfor _, ref := range d.index.refs(&d.mu) {\n\t\td.edgesQ.Add(ref)\n\t}\n", ""},
		},
	}},
}, {
	name: "killed while it waits",
	set: func(o *options) {
		o.Configs, o.Workloads, o.Window, o.KillEvery, o.APIServerEvery = 60, 60, 500*time.Millisecond, 800*time.Millisecond, 0
		o.Away = shortAbsence
		o.Weather = &weather{}
	},
	mistakes: []mistake{
		{
			name:   "what waits is kept in memory alone",
			breaks: "A change that waits for its quiet window survives the end of the process.",
			finds:  lost, by: "Workloads keep the content of before a kill.",
			edits: []edit{{
				"dispatcher/edges.go", "case !doubtful && stored.Change.ID != \"\":", "case !doubtful && stored.Change.ID == \"none\":",
			}},
		},
		{
			name:   "the record is written before the patch",
			breaks: "What is on record as applied was applied, whenever the process ends.",
			finds:  lost, by: "A kill between record and patch leaves a workload without the mark.",
			edits: []edit{
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
			},
		},
		{
			name:   "what the workload says of who brought it where is not looked at",
			breaks: "A patch that its process could not record is not made again by the next one.",
			finds:  doubled, by: "A template change after a kill changes no mark.",
			healed: "The version in reroll.dev/brought, the mark with its time and its writer, and the ID of the reload each prove the patch.",
			edits: []edit{
				{"dispatcher/evidence.go", "e := evidence{brought: strategy.BroughtVersion(target, c), target:", "e := evidence{target:"},
				{"dispatcher/evidence.go", "e.others = d.othersMarked(t, w)", "e.others = false"},
				{"dispatcher/evidence.go", "\te.died = ", "\te.fresh = false\n\te.died = "},
				{"dispatcher/roll.go", "(len(rolling) == 0 || d.unfinished(t, steps, id))", "len(rolling) == 0"},
			},
		},
	},
}, {
	name: "somebody else writes the workloads, between decision and patch too, and nobody sweeps",
	set: func(o *options) {
		// Most workloads are rolled for the last time while the bystander still writes.
		o.Configs, o.Workloads, o.Rate, o.Others, o.KillEvery, o.APIServerEvery, o.Sweep = 60, 60, 4, 100, 0, 0, 0
		o.Weather = &weather{}
	},
	edits: []edit{{
		"dispatcher/flush.go",
		"\t\tpatched, id, err := d.roll(ctx, t, w, steps)\n",
		"\t\ttime.Sleep(500 * time.Millisecond)\n\t\tpatched, id, err := d.roll(ctx, t, w, steps)\n",
	}},
	mistakes: []mistake{{
		name:   "a conflict ends it",
		breaks: "A patch that the API server refuses as outdated is decided again.",
		finds:  lost, by: "A workload that somebody else wrote before the patch keeps its old mark.",
		healed: "The next change of any of its configs rolls the workload for all of them: so the trial edits each config about once.",
		edits:  []edit{{"dispatcher/flush.go", "if fateOf(err) == fateStale {", "if fateOf(err) == fateStale {\n\t\t\treturn 0"}},
	}},
}, {
	name: "two of dispatch",
	set: func(o *options) {
		o.Roles, o.HA, o.Sweep, o.KillEvery, o.APIServerEvery = true, true, time.Second, 0, 0
		o.Weather = &weather{Unruly: true}
	},
	mistakes: []mistake{{
		name:   "both lead, and patches have no precondition",
		breaks: "Of two processes that decide the same at once, one rolls.",
		finds:  doubled, by: "A template change changes no mark, or there are more of them than contents.",
		healed: "The precondition lets one of two patches through, also if both lead.",
		edits: []edit{
			{"cmd/reroll/app/dispatch.go", "if !s.EnableHA {", "if s.EnableHA || !s.EnableHA {"},
			{"dispatcher/roll.go", "ops := strategy.Precondition(target)", "var ops []strategy.Op"},
		},
	}},
}, {
	name: "the power is cut",
	set:  func(o *options) { o.Disk, o.Ordeal, o.Configs, o.Weather = ext4, powerCut, 24, &weather{} },
	mistakes: []mistake{{
		name:   "the store does not wait for the disk",
		breaks: "A hint that was acknowledged with 2xx, and what the API has shown, survive a power cut.",
		finds:  lost, by: "The store that is left has no hint of an acknowledged write.",
		edits: []edit{{"reloader/queue/embedded.go", "SyncAlways:         true,", "SyncAlways:         false,"}},
	}},
}}
