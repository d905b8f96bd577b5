package canary

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestFeedWorks: canaries fly through a feed that works, again and again, and roll nothing.
func TestFeedWorks(t *testing.T) {
	r := newRoom(t, auditv1.LevelMetadata)
	r.waitMetric(`reroll_canary_addresses{state="heard"}`, 1)
	r.edit("b")
	r.waitRoll(1, "audit")
	canary, err := r.client.CoreV1().ConfigMaps("default").Get(r.ctx, "reroll-canary", metav1.GetOptions{})
	r.must(err)
	r.waitMetric("reroll_feed_silent", 0)
	r.wait("a canary that came back a moment ago, with one each second", func(ctx context.Context) error {
		age, err := r.metric(ctx, "reroll_canary_age_seconds")
		if err == nil && age > 10 {
			err = fmt.Errorf("the last canary came back %v s ago", age)
		}
		return err
	})
	if again, err := r.client.CoreV1().ConfigMaps("default").Get(r.ctx, "reroll-canary", metav1.GetOptions{}); err != nil || again.UID != canary.UID {
		t.Errorf("the canary is made anew: %v", err)
	}
	if strings.Contains(r.line.Reroll.Log(), "canary is refused") {
		t.Error("the canary was refused")
	}
}

// TestSilentFeed: an API server that sends nothing is found out in time. What changed before is rolled then, what changes meanwhile is
// rolled soon, and when the feed is back it is the feed that tells of changes.
func TestSilentFeed(t *testing.T) {
	r := newRoom(t, auditv1.LevelNone, "--fallback-watch")
	r.edit("b")
	t.Logf("silent after %s", r.waitMetric("reroll_feed_silent", 1).Round(time.Millisecond))
	t.Logf("found %s later", r.waitRoll(1, "sweep").Round(time.Millisecond))
	if log := r.line.Reroll.Log(); strings.Count(log, `msg="the audit feed is silent"`) != 1 || !strings.Contains(log, "no --audit-webhook-config-file") {
		t.Error("the silence was not told of once with its cause")
	}

	r.waitLog("watching configs while the audit feed is silent")
	r.waitSwept("watching configs while the audit feed is silent")
	r.edit("c")
	t.Logf("rolled %s after the edit", r.waitRoll(2, "watch").Round(time.Millisecond))

	r.setLevel(auditv1.LevelMetadata)
	r.must(r.line.Kube.StopAPIServer(r.ctx))
	r.must(r.line.Kube.StartAPIServer(r.ctx))
	t.Logf("back after %s", r.waitMetric("reroll_feed_silent", 0).Round(time.Millisecond))
	r.waitLog("watching configs no more")
	r.edit("d")
	r.waitRoll(3, "audit")
}
