package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var (
	now    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	web    = reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}
	secret = reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "api-pasword"}
)

// record is that of a workload that runs with the newest content of one config.
func record(change func(*reloader.WorkloadRecord)) *reloader.WorkloadRecord {
	r := &reloader.WorkloadRecord{
		Cluster: "local", Workload: web, UpdatedAt: now,
		Edges: []reloader.Edge{{Config: secret, Why: reloader.ReasonNamed, Applied: reloader.Digest{Sum: "s"}, How: reloader.ReasonReloaded, At: now}},
	}
	change(r)
	return r
}

func hold(reason reloader.Reason, message string, due time.Time) func(*reloader.WorkloadRecord) {
	return func(r *reloader.WorkloadRecord) {
		r.Edges[0].Pending = "c-1"
		r.Hold = &reloader.Hold{Reason: reason, Message: message, Since: now, Due: due}
	}
}

func rollout(result reloader.Reason, message string) func(*reloader.WorkloadRecord) {
	return func(r *reloader.WorkloadRecord) {
		r.Rollout = &reloader.Rollout{Result: result, Message: message, StartedAt: now}
	}
}

// TestFaultsOfNewcomers: the verdict of each mistake that people make names its cause and the next command.
func TestFaultsOfNewcomers(t *testing.T) {
	frozen := &reloader.ClusterStatus{Backlog: reloader.Backlog{Freeze: &reloader.Pause{Reason: "release in progress", By: "alice", Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}}}
	unread := &reloader.ClusterStatus{
		Namespace: "ops",
		Backlog:   reloader.Backlog{Freeze: &reloader.Pause{}, ControlProblem: "ConfigMap reroll-control cannot be read, so everything is frozen: line 1: unknown key"},
	}
	for name, tc := range map[string]struct {
		record  func(*reloader.WorkloadRecord)
		status  *reloader.ClusterStatus
		silence time.Duration
		state   State
		message string
		next    string
	}{
		"no annotation": {state: NotOptedIn, message: "shop/Deployment/web is not opted in", next: "kubectl -n shop annotate deployment/web reroll.dev/auto=true"},
		"a pattern of another grammar": {
			record: func(r *reloader.WorkloadRecord) {
				r.Edges = nil
				r.Missing = []reloader.Missing{{
					Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop"}, Pattern: "app-*", Clause: "configmap.reloader.stakater.com/reload", Meant: "app-.*",
				}}
			},
			state: MissingConfig, message: `Pattern "app-*" of configmap.reloader.stakater.com/reload matches no ConfigMap in shop. Did you mean app-.*?`, next: "kubectl -n shop edit deployment/web",
		},
		"not shared by another namespace": {
			record: func(r *reloader.WorkloadRecord) {
				c := secret
				c.Namespace = "platform"
				r.Missing = []reloader.Missing{{Config: c}}
			},
			state: MissingConfig, message: "Secret platform/api-pasword does not exist, or is not shared with namespace shop.",
			next: "kubectl -n platform annotate secret/api-pasword reroll.dev/share-with=shop",
		},
		"dry run": {
			record: func(r *reloader.WorkloadRecord) { r.Edges[0].How = reloader.ReasonDryRun },
			state:  NotRolled, message: "The last change rolled nothing: the workload would have been rolled; this is a dry run (Secret shop/api-pasword, 2026-11-21 12:00:00 UTC). Set dryRun: false",
		},
		"bad value": {
			record: func(r *reloader.WorkloadRecord) {
				r.Edges, r.Problems = nil, []string{`reloader.stakater.com/auto is "yes"; use "true" or "false"`}
			},
			state: Invalid, message: `reloader.stakater.com/auto is "yes"; use "true" or "false". Nothing will roll.`,
			next: "kubectl -n shop annotate deployment/web --overwrite reloader.stakater.com/auto=true",
		},
		"bad pattern among others": {
			record: func(r *reloader.WorkloadRecord) { r.Problems = []string{"a: bad pattern", "b: bad pattern"} },
			state:  Invalid, message: "a: bad pattern. And 1 more faults.", next: "kubectl -n shop edit deployment/web",
		},
		"nothing to read": {
			record: func(r *reloader.WorkloadRecord) { r.Missing = []reloader.Missing{{Unreadable: "a list failed"}} },
			state:  Unreadable, message: "a list failed", next: "reroll check",
		},
		"not shared by its owner": {
			record: func(r *reloader.WorkloadRecord) {
				c := secret
				c.Cluster = "east"
				r.Missing = []reloader.Missing{{Config: c, Unreadable: "it cannot be followed: no followers"}}
			},
			state: Unreadable, message: "it cannot be followed: no followers, so its changes go unnoticed.", next: "reroll get clusters",
		},
		"uses no config":        {record: func(r *reloader.WorkloadRecord) { r.Edges = nil }, state: NoConfigs, message: "ask for no ConfigMap or Secret", next: "kubectl -n shop get deployment/web -o yaml"},
		"frozen":                {record: hold(reloader.ReasonFrozen, "release in progress", now.Add(time.Hour)), status: frozen, state: Frozen, message: `All reloads are frozen ("release in progress") by alice since 2026-11-21 11:00:00 UTC until 2026-11-21 13:00:00 UTC.`, next: "reroll resume -A"},
		"frozen, nothing waits": {record: func(*reloader.WorkloadRecord) {}, status: frozen, state: UpToDate, message: "until 2026-11-21 13:00:00 UTC. The next change waits.", next: "reroll resume -A"},
		"reloading":             {record: hold(reloader.ReasonReloading, "http: 1 of 2 pods have answered", now.Add(time.Minute)), state: Pending, message: "is reloading in its running pods: http: 1 of 2 pods have answered. It continues at 2026-11-21 12:01:00 UTC."},
		"reload failed":         {record: hold(reloader.ReasonReloadFailed, "pod web-1: answered with status 500", time.Time{}), state: Failed, message: "could not reload in its running pods", next: "reroll retry shop/Deployment/web"},
		"reloaded": {record: func(r *reloader.WorkloadRecord) { r.Strategy, r.Edges[0].How = "http", reloader.ReasonVerified }, state: UpToDate, message: "runs with the newest content: it reloaded in its running pods without a restart, and each pod proved that (Secret shop/api-pasword, 2026-11-21 12:00:00 UTC). " +
			"A change of Secret shop/api-pasword would reach its running pods without a restart (strategy http)."},
		"restarts": {record: func(r *reloader.WorkloadRecord) { r.Strategy, r.Edges[0].Restarts = "exec", "it is used as env" }, state: UpToDate, message: "A change of Secret shop/api-pasword would restart its pods: it is used as env."},
		"frozen by what cannot be read": {
			record: hold(reloader.ReasonFrozen, "ConfigMap reroll-control cannot be read", time.Time{}), status: unread,
			state: Frozen, message: "ConfigMap reroll-control cannot be read, so everything is frozen: line 1: unknown key.", next: "kubectl -n ops edit configmap reroll-control",
		},
		"paused by its label": {
			record: hold(reloader.ReasonPausedByOperator, "sale", now.Add(time.Hour)),
			status: &reloader.ClusterStatus{Backlog: reloader.Backlog{Pauses: []reloader.Pause{{Namespace: "other", Until: now.Add(time.Hour)}, {Selector: "app=web", Until: now.Add(time.Hour)}}}},
			state:  Held, message: "held back by a pause in reroll-control: sale. It continues at 2026-11-21 13:00:00 UTC.", next: `reroll resume -A -l 'app=web'`,
		},
		"flapping":            {record: hold(reloader.ReasonFlapping, "", now.Add(time.Hour)), state: Held, message: "its config keeps changing", next: "reroll get reloads"},
		"pods wait for a key": {record: hold(reloader.ReasonMissingConfig, "no pod starts without Secret/shop/gone", time.Time{}), state: MissingConfig, message: "The workload waits: no pod starts without Secret/shop/gone."},
		"scaled to zero":      {record: rollout(reloader.ReasonWaitingForOperator, workload.WhyEmpty), state: UpToDate, message: "No pod runs: the workload has no replicas. The next pods start with the newest content"},
		"undone": {
			record: func(r *reloader.WorkloadRecord) {
				r.Rollout = &reloader.Rollout{Result: reloader.ReasonOvertaken, StartedAt: now, EndedAt: now, Undone: true}
			},
			state: NotRolledOut, message: "another client removed the mark at 2026-11-21 12:00:00 UTC, before the rollout completed", next: "reroll reload shop/Deployment/web",
		},
		"rolling":         {record: rollout(reloader.ReasonRolling, ""), state: Rolling, message: "Reroll rolled the workload at 2026-11-21 12:00:00 UTC, and the rollout is under way.", next: "kubectl -n shop rollout status deployment/web"},
		"just opted in":   {record: func(r *reloader.WorkloadRecord) { r.Edges[0].How = "" }, state: Pending, message: "not recorded yet", next: "reroll check"},
		"never changed":   {record: func(r *reloader.WorkloadRecord) { r.Edges[0].How = reloader.ReasonBaseline }, state: UpToDate, message: "Nothing has changed since Reroll first saw it"},
		"dispatcher down": {record: func(*reloader.WorkloadRecord) {}, silence: 2 * time.Minute, state: Unreachable, message: "no status for 2m0s; the record of this workload is as of 2026-11-21 12:00:00 UTC", next: "reroll check"},
	} {
		if tc.status == nil {
			tc.status = &reloader.ClusterStatus{}
		}
		tc.status.At = now.Add(-tc.silence)
		c := Case{Cluster: "local", Workload: web, Status: tc.status, Now: now}
		if tc.record != nil {
			c.Record = record(tc.record)
		}
		got := Judge(c)
		if got.State != tc.state || !strings.Contains(got.Message, tc.message) || !strings.Contains(got.Next, tc.next) || tc.next == "" && tc.state == UpToDate && got.Next != "" {
			t.Errorf("%s: %s: %s Next: %s\nwant %s: %s Next: %s", name, got.State, got.Message, got.Next, tc.state, tc.message, tc.next)
		}
		if strings.ContainsAny(got.Next, ",;…<>") || got.Next != "" && !slices.Contains([]string{"kubectl", "oc", "reroll"}, strings.Fields(got.Next)[0]) {
			t.Errorf("%s: %q is no command", name, got.Next)
		}
		if got.NeedsAttention != got.State.NeedsAttention() || got.NeedsAttention && got.State.Settled() {
			t.Errorf("%s: %s is settled and needs attention", name, got.State)
		}
	}
}

// TestLive: what the cluster says about a workload without a record is the cause.
func TestLive(t *testing.T) {
	const annotate = "kubectl -n shop annotate deployment/web reroll.dev/auto=true"
	for _, c := range []struct {
		live          Live
		message, next string
	}{
		{Live{}, "shop/Deployment/web exists, and is not opted in.", annotate},
		{Live{Lacking: "there is no namespace shop"}, "There is no namespace shop.", "kubectl get deployment -A"},
		{Live{Typo: "a/atuo is unknown: did you mean a/auto?", Asks: true}, "shop/Deployment/web exists, and is not opted in. a/atuo is unknown: did you mean a/auto?", annotate},
		{Live{Asks: true}, "shop/Deployment/web exists and asks for configs, but Reroll has no record of it: the settings leave out its namespace or kind, or it was annotated a moment ago.", "reroll check"},
	} {
		got := Judge(Case{Cluster: "local", Workload: web, Live: &c.live, Now: now})
		if want := (Verdict{State: NotOptedIn, Reason: reloader.ReasonNotOptedIn, NeedsAttention: true, Message: c.message, Next: c.next}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestOf: the verdict on one config does not mention the faults of another.
func TestOf(t *testing.T) {
	other := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	r := record(func(r *reloader.WorkloadRecord) {
		r.Missing, r.Problems = []reloader.Missing{{Config: secret}}, []string{"bad"}
		r.Edges = append(r.Edges, reloader.Edge{Config: other, How: reloader.ReasonBaseline, At: now})
		r.Rollout = &reloader.Rollout{Result: reloader.ReasonStalled, StartedAt: now}
	})
	c := Case{Cluster: "local", Workload: web, Record: r, Now: now}
	for name, tc := range map[string]struct {
		edge    int
		forLast bool
		want    State
	}{
		"the missing one":           {0, false, MissingConfig},
		"the other":                 {1, false, UpToDate},
		"the other, rolled for now": {1, true, Stalled},
	} {
		if got := c.Of(r.Edges[tc.edge].Config, tc.forLast); got.State != tc.want {
			t.Errorf("%s: %+v, want %s", name, got, tc.want)
		}
	}
}

// TestNoDependency: the config is named, and so is the one that was probably meant.
func TestNoDependency(t *testing.T) {
	c := Case{Cluster: "local", Workload: web, Record: record(func(*reloader.WorkloadRecord) {}), Now: now}
	typo := secret
	typo.Name = "api-passwrd"
	for _, tc := range []struct {
		config  reloader.Config
		why     reloader.Reason
		message string
	}{
		{typo, "", "No annotation of the workload asks for Secret shop/api-passwrd: it is neither named nor referenced, or it is excluded, ignored, or in another namespace. Did you mean api-pasword?"},
		{reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "api-pasword"}, "", "or in another namespace."},
		{secret, reloader.ReasonNotShared, "The workload " + reloader.ReasonNotShared.Says() + "."},
	} {
		if got := c.noDependency(tc.config, tc.why); got.State != NotADependency || got.Reason != tc.why || !strings.HasSuffix(got.Message, tc.message) {
			t.Errorf("%s: %+v, want %s", tc.config, got, tc.message)
		}
	}
}

// TestRemedy: the command fits the kind, and can be pasted. There is none for a workload that has no pods with old content.
func TestRemedy(t *testing.T) {
	for _, c := range []struct{ kind, why, want string }{
		{"Deployment", workload.WhyPaused, "kubectl -n shop rollout resume deployment/web"},
		{"Rollout", workload.WhyPaused, "kubectl argo rollouts -n shop resume web"},
		{"DeploymentConfig", workload.WhyPaused, "oc -n shop rollout resume dc/web"},
		{"DeploymentConfig", workload.WhyManual, "oc -n shop rollout latest dc/web"},
		{"DaemonSet", "something else", "kubectl -n shop rollout status daemonset/web"},
		{"Job", "something else", "kubectl -n shop describe job/web"},
		{"Deployment", workload.WhyEmpty, ""},
	} {
		r := record(rollout(reloader.ReasonWaitingForOperator, c.why))
		got := Judge(Case{Workload: reloader.WorkloadRef{Kind: c.kind, Namespace: "shop", Name: "web"}, Record: r, Now: now})
		if got.Next != c.want || (got.State == NotRolledOut) != (c.want != "") {
			t.Errorf("%s, %s: %+v; want %q", c.kind, c.why, got, c.want)
		}
	}
}

// TestRestartsOfOthers: what restarts the pods next to the rolls that are needed is not passed over.
func TestRestartsOfOthers(t *testing.T) {
	r := record(func(r *reloader.WorkloadRecord) {
		r.Rollout, r.Rolls = &reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: now, Undone: true}, 9
	})
	got := Judge(Case{Cluster: "local", Workload: web, Record: r, Now: now})
	if got.State != UpToDate || !strings.HasSuffix(got.Message, "Since then, its template has lost the mark, which restarted its pods: configure your GitOps tool to keep the mark (docs/recipes.md).") {
		t.Errorf("%+v", got)
	}
	r.Rollout, r.Rolls = &reloader.Rollout{Result: reloader.ReasonRolling, StartedAt: now}, 12
	got = Judge(Case{Cluster: "local", Workload: web, Record: r, Now: now})
	if got.State != Rolling || !strings.HasSuffix(got.Message, "It has rolled about 12 times within twelve hours: reroll get reloads -n shop shows for what.") {
		t.Errorf("%+v", got)
	}
}

// TestBlind: where only audit events report changes, and those of the workload's kind do not come in, nothing newer than the resync is claimed.
func TestBlind(t *testing.T) {
	quiet := func(state string, kind reloader.ConfigKind, at time.Time) []reloader.FeedStatus {
		return []reloader.FeedStatus{{State: state, LastAt: at, Quiet: []reloader.ConfigKind{kind}}}
	}
	const asOf = " This is as of the resync of 2026-11-21 11:59:00 UTC: "
	for name, tc := range map[string]struct {
		source     string
		feeds      []reloader.FeedStatus
		says, next string
	}{
		"a policy without Secrets":             {"audit", quiet("silent", reloader.Secret, time.Time{}), asOf + "no audit event of a Secret has come since the dispatcher started.", "reroll audit check"},
		"a feed that ended":                    {"audit", quiet("silent", reloader.Secret, now), asOf + "the last audit event of a Secret came at 2026-11-21 12:00:00 UTC.", "reroll audit check"},
		"no canaries, and a feed that is lost": {"audit", nil, asOf + "no audit event has come since the dispatcher started.", "reroll audit check"},
		"another kind":                         {"audit", quiet("silent", reloader.ConfigMap, time.Time{}), "", ""},
	} {
		c := Case{
			Cluster: "local", Workload: web, Record: record(func(*reloader.WorkloadRecord) {}), Now: now,
			Status: &reloader.ClusterStatus{At: now, Hearing: reloader.Hearing{SweptAt: now.Add(-time.Minute), Source: tc.source, Feeds: tc.feeds}},
		}
		got := Judge(c)
		if want := "The workload runs with the newest content. It last rolled for Secret shop/api-pasword, at 2026-11-21 12:00:00 UTC." + tc.says; got.State != UpToDate || got.Message != want || got.Next != tc.next {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
}

// TestCreated: pods that started before an optional config was created do not have it, and the verdict does not say that nothing has changed.
func TestCreated(t *testing.T) {
	r := record(func(r *reloader.WorkloadRecord) { r.Edges[0].How = reloader.ReasonAppeared })
	c := Case{Cluster: "local", Workload: web, Record: r, Now: now}
	const want = "Secret shop/api-pasword was created at 2026-11-21 12:00:00 UTC. Creating a config rolls nothing unless reload.onCreate is set. Pods that started before do not have the config."
	if got := c.Of(secret, false); got.State != UpToDate || got.Message != want || got.Next != "reroll reload shop/Deployment/web" {
		t.Errorf("%+v, want %s", got, want)
	}
	r.Edges[0].How = reloader.ReasonReloaded
	if got := c.Of(secret, false); got.Next != "" {
		t.Errorf("it has rolled since: %+v", got)
	}
}
