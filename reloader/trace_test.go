package reloader_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	uuid      = "5A0a4e9f-7f4e-4b34-9b56-0000000000aF"
	uuidTrace = "5a0a4e9f7f4e4b349b560000000000af"
)

// wellFormed is what W3C Trace Context takes as version 00; Go's expressions cannot exclude zeros.
var wellFormed = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-01$`)

// trace returns the trace ID in a traceparent.
func trace(t testing.TB, parent string) string {
	t.Helper()
	m := wellFormed.FindStringSubmatch(parent)
	if m == nil || strings.Trim(m[1], "0") == "" || strings.Trim(m[2], "0") == "" {
		t.Fatalf("%q is no traceparent", parent)
	}
	return m[1]
}

// TestTraceParentGolden pins what is on disks and in people's tracing systems.
func TestTraceParentGolden(t *testing.T) {
	hint := func(id string) reloader.Hint { return reloader.Hint{Cluster: "blue", AuditID: id} }
	cases := map[string]struct{ got, want, reason string }{
		"UUID": {hint(uuid).TraceParent("m-1"), "00-" + uuidTrace + "-3bb081e96bdaf002-01", "whoever has the audit ID has the trace ID"},
		"other message": {
			hint(uuid).TraceParent("m-2"), "00-" + uuidTrace + "-0ae39bab9868f622-01", "the parent ID is the message's",
		},
		"other text":     {hint("0b0e-77").TraceParent("m-1"), "00-3fcead6ee453e6a31bc9a0fa03b550b3-3bb081e96bdaf002-01", "clients choose audit IDs freely"},
		"other cluster":  {reloader.Hint{Cluster: "green", AuditID: "0b0e-77"}.TraceParent("m-1"), "00-57f2994ec86e9c823047088a74111141-3bb081e96bdaf002-01", "only UUIDs are unique in the world"},
		"zeros":          {hint("00000000-0000-0000-0000-000000000000").TraceParent("m-1"), "00-9194aeac71837e0a053d8b2ff2349890-3bb081e96bdaf002-01", "a trace ID of zeros is invalid"},
		"braces":         {hint("{5a0a4e9f-7f4e-4b34-9b56-0000000000}").TraceParent("m-1"), "00-ce6e47cb4c177baded3f0c6b38e3dd25-3bb081e96bdaf002-01", "as long as a UUID, and none"},
		"hint of nobody": {hint("").TraceParent("m-1"), "00-2f70a682c4e219d93d2f0d25674cf26a-3bb081e96bdaf002-01", "the trace is of the message"},
		"change":         {wholeChange.TraceParent("m-1"), "00-3fcead6ee453e6a31bc9a0fa03b550b3-3bb081e96bdaf002-01", "its candidate's"},
		"reload":         {wholeReload.TraceParent("m-1"), "00-3fcead6ee453e6a31bc9a0fa03b550b3-3bb081e96bdaf002-01", "its cause's candidate's"},
		"sweep":          {reloader.Change{ID: "c-1", Cluster: "blue"}.TraceParent("m-1"), "00-fbab73ae3cc81bedc4264f37bea0ff4b-3bb081e96bdaf002-01", "the trace begins with the change"},
		"no cause":       {reloader.Reload{ID: "r-1", Cluster: "blue"}.TraceParent("m-1"), "00-1427f316e205c1a43984aa1f12674e43-3bb081e96bdaf002-01", "the trace begins with the reload"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			trace(t, c.got)
			if c.got != c.want {
				t.Errorf("got %s, want %s: %s", c.got, c.want, c.reason)
			}
		})
	}
}

func TestWhatBelongsTogetherIsInOneTrace(t *testing.T) {
	candidate := func(id string, second int) reloader.Candidate {
		return reloader.Candidate{AuditID: id, Time: at.Add(time.Duration(second) * time.Second)}
	}
	cause := func(change string, second int, candidates ...reloader.Candidate) reloader.Cause {
		return reloader.Cause{ChangeID: change, Candidates: candidates, VerifiedAt: at.Add(time.Duration(second) * time.Second)}
	}
	for name, id := range map[string]string{"UUID": uuid, "other text": "my-request"} {
		t.Run(name, func(t *testing.T) {
			want := trace(t, reloader.Hint{Cluster: "blue", AuditID: id}.TraceParent("m-1"))
			for reason, got := range map[string]string{
				"a change is in the trace of its newest candidate": reloader.Change{
					Cluster: "blue", ID: "c-1", Candidates: []reloader.Candidate{candidate("old", 1), candidate(id, 3), candidate("older", 2)},
				}.TraceParent("m-2"),
				"a candidate without an audit ID has no trace": reloader.Change{
					Cluster: "blue", ID: "c-1", Candidates: []reloader.Candidate{candidate(id, 1), candidate("", 2)},
				}.TraceParent("m-3"),
				"a reload is in the trace of its newest cause": reloader.Reload{
					Cluster: "blue", ID: "r-1", Causes: []reloader.Cause{
						cause("c-0", 1, candidate("x", 9)), cause("c-1", 3, candidate("old", 1), candidate(id, 3)), cause("c-2", 2, candidate("y", 9)),
					},
				}.TraceParent("m-4"),
			} {
				if trace(t, got) != want || (reloader.Hint{Cluster: "blue", AuditID: id}).TraceID() != want {
					t.Errorf("%s: got %s, want the trace %s", reason, got, want)
				}
			}
		})
	}
	swept := trace(t, reloader.Change{Cluster: "blue", ID: "c-1"}.TraceParent("m-1"))
	r := reloader.Reload{Cluster: "blue", ID: "r-1", Causes: []reloader.Cause{cause("c-1", 1)}}
	if got := trace(t, r.TraceParent("m-2")); got != swept {
		t.Errorf("a reload caused by a sweep's change is in trace %s, the change in %s", got, swept)
	}
	if r.TraceID() != swept || r.Causes[0].TraceID("blue") != swept {
		t.Errorf("it says that its trace is %s, and that of its cause %s, not %s", r.TraceID(), r.Causes[0].TraceID("blue"), swept)
	}
	if spoofed := trace(t, reloader.Hint{Cluster: "blue", AuditID: "c-1"}.TraceParent("m-1")); spoofed == swept {
		t.Error("an audit ID that looks like a change's ID joins its trace")
	}
}

func FuzzTraceParent(f *testing.F) {
	f.Add("blue", uuid, "m-1")
	f.Add("", "", "")
	f.Add("blue", "00000000-0000-0000-0000-000000000000", "\x00")
	f.Add("blue", strings.Repeat("-", 36), strings.Repeat("\xff", 128))
	f.Add("blue", "5a0a4e9f-7f4e-4b34-9b56-00000000000g\r\nx", "m")
	f.Fuzz(func(t *testing.T, cluster, auditID, messageID string) {
		auditID = auditID[:min(len(auditID), reloader.MaxAuditIDLength)]
		candidates := []reloader.Candidate{{AuditID: auditID}}
		hint := reloader.Hint{Cluster: cluster, AuditID: auditID}.TraceParent(messageID)
		change := reloader.Change{ID: "c-1", Cluster: cluster, Candidates: candidates}.TraceParent(messageID)
		reload := reloader.Reload{ID: "r-1", Cluster: cluster, Causes: []reloader.Cause{{ChangeID: "c-1", Candidates: candidates}}}.TraceParent(messageID)
		if trace(t, change) != trace(t, reload) || auditID != "" && trace(t, hint) != trace(t, change) {
			t.Errorf("one request, several traces: %s, %s, %s", hint, change, reload)
		}
	})
}
