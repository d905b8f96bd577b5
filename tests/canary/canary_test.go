package canary

import (
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

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
