package admission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// sapHashOf returns the hash that pod-reloader computes of the two configs at that version; of none if they are absent.
func sapHashOf(version string) string {
	lines := "configmap/shop/app/\nsecret/shop/key/\n"
	if version != "" {
		lines = "configmap/shop/app/uid of app." + version + "\nsecret/shop/key/uid of key." + version + "\n"
	}
	sum := sha256.Sum256([]byte(lines))
	return hex.EncodeToString(sum[:])
}

// sapLists returns the annotations of a workload of pod-reloader that expects a hash, and others.
func sapLists(token string, others ...string) map[string]string {
	m := map[string]string{"pod-reloader.cs.sap.com/configmaps": "app", "pod-reloader.cs.sap.com/secrets": "key"}
	if token != "" {
		m[strategy.SAPHashKey] = token
	}
	for i := 0; i < len(others); i += 2 {
		m[others[i]] = others[i+1]
	}
	return m
}

func marked(hash string) map[string]string { return map[string]string{strategy.SAPHashKey: hash} }

// TestToken: a hash that a request expects of the configs rolls the workload if that is theirs, and nothing if it is not. It is taken off as soon
// as it was compared, and counts only in the request that brings it.
func TestToken(t *testing.T) {
	both := map[reloader.Config]Seen{config: seenOf(config, "new"), other: seenOf(other, "new")}
	brought := strategy.BroughtWith(strategy.BroughtWith("", config, versionOf(config, "new"), "sum of new"), other, versionOf(other, "new"), "sum of new")
	fresh := func(r Rules, opted map[string]string) string {
		made, _, _ := patched(t, r, nil, deployment{opted: opted}.raw(t), both)
		return made.Spec.Template.Annotations[strategy.SAPHashKey]
	}(rules, sapLists(""))
	old := marked(sapHashOf("old"))
	auto := []string{"reloader.stakater.com/auto", "true"}
	for name, tc := range map[string]struct {
		reason        string
		rules         func(*Rules)
		before        *deployment
		after, expect deployment
		seen          map[reloader.Config]Seen
		says          verdict
	}{
		"the hash of versions": {
			reason: "it is what the tool itself expects, and the mark is ours",
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(sapHashOf("new")), annotations: old},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh), brought: brought}, seen: both, says: agrees,
		},
		"our own": {
			reason: "it may be that of another workload with the same lists",
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(fresh), annotations: old},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh), brought: brought}, seen: both, says: agrees,
		},
		"in the mode of versions": {
			reason: "the mark is the tool's", rules: func(r *Rules) { r.Dialects = dialect.Set{dialect.SAPOfVersions()} },
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(sapHashOf("new")), annotations: old},
			expect: deployment{opted: sapLists(""), annotations: marked(sapHashOf("new")), brought: brought}, seen: both, says: agrees,
		},
		"what it runs with already": {
			reason: "there is nothing to roll, whatever form the mark has",
			before: &deployment{opted: sapLists(""), annotations: marked(sapHashOf("new"))},
			after:  deployment{opted: sapLists(fresh), annotations: marked(sapHashOf("new"))},
			expect: deployment{opted: sapLists(""), annotations: marked(sapHashOf("new"))}, seen: both, says: agrees,
		},
		"with a mark that is dropped": {
			reason: "what is restored is brought up to date",
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(sapHashOf("new"))},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh), brought: brought}, seen: both, says: agrees,
		},
		"for the first time": {
			reason: "it asks for a mark",
			before: &deployment{opted: sapLists("")}, after: deployment{opted: sapLists(sapHashOf("new"))},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh), brought: brought}, seen: both, says: agrees,
		},
		"of configs that are gone": {
			reason: "the tool has a hash of those too",
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(sapHashOf("")), annotations: old},
			expect: deployment{opted: sapLists(""), annotations: marked(sapHashOf(""))},
			seen:   map[reloader.Config]Seen{config: {Absent: true}, other: {Absent: true}}, says: agrees,
		},
		"beside another tool": {
			reason: "pods start anew with everything",
			before: &deployment{opted: sapLists("", auto...), annotations: old, env: env(configVar, "00")},
			after:  deployment{opted: sapLists(sapHashOf("new"), auto...), annotations: old, env: env(configVar, "00")},
			expect: deployment{
				opted: sapLists("", auto...), annotations: marked(fresh), env: env(configVar, markOf(t, config, "new")),
				second: env(otherVar, markOf(t, other, "new")), brought: brought,
			},
			seen: both, says: agrees,
		},
		"another hash": {
			reason: "nothing is to roll because of it",
			before: &deployment{opted: sapLists("", auto...), annotations: old, env: env(configVar, "00")},
			after:  deployment{opted: sapLists(sapHashOf("newer"), auto...), annotations: old, env: env(configVar, "00")},
			expect: deployment{opted: sapLists("", auto...), annotations: old, env: env(configVar, "00")}, seen: both, says: differs,
		},
		"another hash and another image": {
			reason: "what rolls anyway gets the marks of what there is",
			before: &deployment{opted: sapLists(""), annotations: old, image: "1"},
			after:  deployment{opted: sapLists(sapHashOf("newer")), annotations: old, image: "2"},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh), image: "2", brought: brought}, seen: both, says: differs,
		},
		"another hash that was there before": {
			reason: "it was left behind",
			before: &deployment{opted: sapLists(sapHashOf("newer")), annotations: old},
			after:  deployment{opted: sapLists(sapHashOf("newer")), annotations: old, labels: map[string]string{"team": "web"}},
			expect: deployment{opted: sapLists(sapHashOf("newer")), annotations: old, labels: map[string]string{"team": "web"}}, seen: both,
		},
		"one that has come true since": {
			reason: "a label rolls nothing",
			before: &deployment{opted: sapLists(sapHashOf("new")), annotations: old},
			after:  deployment{opted: sapLists(sapHashOf("new")), annotations: old, labels: map[string]string{"team": "web"}},
			expect: deployment{opted: sapLists(sapHashOf("new")), annotations: old, labels: map[string]string{"team": "web"}}, seen: both,
		},
		"a config that cannot be read": {
			reason: "nobody knows",
			before: &deployment{opted: sapLists(""), annotations: old}, after: deployment{opted: sapLists(sapHashOf("new")), annotations: old},
			expect: deployment{opted: sapLists(sapHashOf("new")), annotations: old}, seen: map[reloader.Config]Seen{config: both[config]},
		},
		"a creation": {
			reason: "it has the mark from the start", after: deployment{opted: sapLists(sapHashOf("new"))},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh)}, seen: both, says: agrees,
		},
		"a creation with the mark": {
			reason: "nothing is left to write", after: deployment{opted: sapLists(fresh), annotations: marked(fresh)},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh)}, seen: both, says: agrees,
		},
		"a creation with another hash": {
			reason: "it has the mark of what there is", after: deployment{opted: sapLists(sapHashOf("newer"))},
			expect: deployment{opted: sapLists(""), annotations: marked(fresh)}, seen: both, says: differs,
		},
		"a workload that carries no marks": {
			reason: "there is nothing to compare", rules: func(r *Rules) { r.Strategy = strategy.Restart.Name },
			before: &deployment{opted: sapLists("")}, after: deployment{opted: sapLists(sapHashOf("newer"))},
			expect: deployment{opted: sapLists(sapHashOf("newer"))}, seen: both,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules
			if tc.rules != nil {
				tc.rules(&r)
			}
			var before json.RawMessage
			if tc.before != nil {
				before = tc.before.raw(t)
			}
			draft, err := r.Draft(workload.Deployment, before, tc.after.raw(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := draft.verdict(tc.seen); got != tc.says {
				t.Errorf("it is said to be %q, want %q: %s", got, tc.says, tc.reason)
			}
			got, _, _ := patched(t, r, before, tc.after.raw(t), tc.seen)
			if diff := cmp.Diff(tc.expect.object(), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if again, _, ops := patched(t, r, before, rawOf(t, got), tc.seen); len(ops) > 0 {
				t.Errorf("asked again about what it has made, it makes %v more: %v", again.Spec.Template, ops)
			}
		})
	}
}

// TestTokenIsAnswered: whoever expects another hash is told, and refused only where the installation says so. One that was left behind keeps
// nobody from writing even there, and neither does a config that cannot be read.
func TestTokenIsAnswered(t *testing.T) {
	plain, said := deployment{opted: sapLists("")}, deployment{opted: sapLists("stale")}
	values := map[reloader.Config]string{config: "new", other: "new"}
	for name, tc := range map[string]struct {
		world         world
		refuse        bool
		before, after *deployment
		allowed       bool
		result        string
		warns         string
	}{
		"another hash":                           {world{values: values}, false, &plain, &said, true, resultUnexpected, unexpectedWarning},
		"another hash at creation":               {world{values: values}, false, nil, &said, true, resultUnexpected, unexpectedWarning},
		"another hash where that is refused":     {world{values: values}, true, &plain, &said, false, resultDenied, ""},
		"a creation where that is refused":       {world{values: values}, true, nil, &said, false, resultDenied, ""},
		"one that a rollback brings back":        {world{values: values}, true, &plain, &deployment{opted: sapLists("stale"), image: "before"}, true, resultUnexpected, unexpectedWarning},
		"one that is left where that is refused": {world{values: values}, true, &said, &deployment{opted: sapLists("stale"), replicas: 2}, true, resultUntouched, ""},
		"none where that is refused":             {world{values: values}, true, &said, &plain, true, resultUntouched, ""},
		"the right one where others are refused": {world{values: values}, true, &plain, &deployment{opted: sapLists(sapHashOf("new"))}, true, resultMarked, ""},
		"no right to read":                       {world{err: errors.New("forbidden")}, true, &plain, &said, true, resultMissed, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, &tc.world, func(o *Options) { o.RefuseUnexpected = tc.refuse })
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(post(t, h, "", request(t, tc.before, tc.after, nil)).Body.Bytes(), &review); err != nil {
				t.Fatal(err)
			}
			got := review.Response
			if got.Allowed != tc.allowed || got.UID != "review-1" {
				t.Errorf("review %s allowed: %t, want %t", got.UID, got.Allowed, tc.allowed)
			}
			if warned := strings.Join(got.Warnings, "\n"); (warned != "") != (tc.warns != "") || !strings.Contains(warned, tc.warns) {
				t.Errorf("warnings %q, want %q", got.Warnings, tc.warns)
			}
			if !tc.allowed && (len(got.Patch) > 0 || got.Result == nil || got.Result.Code != 400 || got.Result.Message != refusedUnexpected) {
				t.Errorf("it is refused with %+v and the patch %s", got.Result, got.Patch)
			}
			if n := testutil.ToFloat64(h.metrics.reviews.WithLabelValues(tc.result)); n != 1 {
				t.Errorf("%v reviews are counted as %s", n, tc.result)
			}
		})
	}
	if len(unexpectedWarning) > maxWarning {
		t.Errorf("the warning has %d bytes", len(unexpectedWarning))
	}
}

// TestTokenAfterRotation: a mark under the digest key of before is one of the configs as they are, on the workload and as what is expected.
func TestTokenAfterRotation(t *testing.T) {
	before, now := make(digest.Key, digest.KeySize), bytes.Repeat(digest.Key{1}, digest.KeySize)
	for name, keys := range map[string][]digest.Key{"the key of before is known": {now, before}, "it is not": {now}} {
		w := &world{values: map[reloader.Config]string{config: "new", other: "new"}}
		plain := deployment{opted: sapLists("")}
		made := apply(t, plain.raw(t), opsOf(t, response(t, newHandler(t, w, nil), "", request(t, nil, &plain, nil))))
		mark := made.Spec.Template.Annotations[strategy.SAPHashKey]
		rotated := newHandler(t, w, func(o *Options) {
			ring, err := digest.NewRing(keys...)
			if err != nil {
				t.Fatal(err)
			}
			o.Ring = ring
		})
		runs := deployment{opted: sapLists(""), annotations: marked(mark)}
		for expects, want := range map[string]struct {
			warned, rolled bool
		}{sapHashOf("new"): {false, len(keys) == 1}, mark: {len(keys) == 1, false}} {
			asks := deployment{opted: sapLists(expects), annotations: marked(mark)}
			got := response(t, rotated, "", request(t, &runs, &asks, nil))
			after := apply(t, asks.raw(t), opsOf(t, got))
			if rolled := after.Spec.Template.Annotations[strategy.SAPHashKey] != mark; rolled != want.rolled || (len(got.Warnings) > 0) != want.warned {
				t.Errorf("%s, %s is expected: it is rolled: %t, with the warnings %q", name, expects, rolled, got.Warnings)
			}
		}
	}
}

// opsOf returns the operations of an answer.
func opsOf(t *testing.T, r *admissionv1.AdmissionResponse) []strategy.Op {
	t.Helper()
	var ops []strategy.Op
	if err := json.Unmarshal(r.Patch, &ops); err != nil {
		t.Fatal(err)
	}
	return ops
}
