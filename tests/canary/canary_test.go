package canary

import (
	"context"
	"errors"
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
	r.wait("the Secret, too, is marked as one that came back", func(ctx context.Context) error {
		secret, err := r.client.CoreV1().Secrets("default").Get(ctx, "reroll-canary", metav1.GetOptions{})
		if err == nil && string(secret.Data["proven"]) != "true" {
			err = errors.New("it is not marked")
		}
		return err
	})
	if strings.Contains(r.line.Reroll.Log(), "canary is refused") {
		t.Error("the canary was refused")
	}
}

// TestSilentFeed: where audit events are all there is, an API server that sends nothing is found out in time. What changed before is rolled then,
// and when the feed is back it is the feed that tells of changes.
func TestSilentFeed(t *testing.T) {
	r := newRoom(t, auditv1.LevelNone)
	r.edit("b")
	r.waitVerdict("UpToDate: ", "This is as of the resync of ", "no audit event of a ConfigMap has come since the dispatcher started")
	t.Logf("silent after %s", r.waitMetric("reroll_feed_silent", 1).Round(time.Millisecond))
	t.Logf("found %s later", r.waitRoll(1, "sweep").Round(time.Millisecond))
	if log := r.line.Reroll.Log(); strings.Count(log, `msg="the audit feed is silent"`) != 2 || !strings.Contains(log, "no --audit-webhook-config-file") {
		t.Error("the silence was not reported once for each kind with its cause")
	}

	r.restartKube(auditv1.LevelMetadata)
	t.Logf("back after %s", r.waitMetric("reroll_feed_silent", 0).Round(time.Millisecond))
	r.edit("c")
	r.waitRoll(2, "audit")
}
