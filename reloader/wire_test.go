package reloader_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// update writes the golden files again. Records are on disks out there once there is a release: then a file is only ever added.
var update = flag.Bool("update", false, "write the golden files")

var (
	at      = time.Date(2026, 11, 21, 6, 30, 0, 123456789, time.UTC)
	prices  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "prices.v2"}
	storage = reloader.WorkloadRef{Kind: "StatefulSet", Namespace: "shop", Name: "storage"}
	alice   = reloader.Actor{
		User: "alice", AuthenticatedUser: "ci", UserAgent: "kubectl/v1.37.2 <linux>", SourceIP: "10.0.0.7", FieldManager: "kubectl-edit",
	}
	candidate = reloader.Candidate{
		Actor: alice, Verb: reloader.VerbPatch, AuditID: "0b0e-77", Time: at, Sure: true,
	}
	before = reloader.Digest{KeyID: "k1", Sum: "aa11", Keys: reloader.KeySums(map[string]string{"a": "1", "b": "2"})}
	after  = reloader.Digest{KeyID: "k1", Sum: "bb22", Keys: reloader.KeySums(map[string]string{"a": "1", "c": "3"})}
	keys   = []reloader.KeyChange{{Key: "b", Op: reloader.KeyRemoved}, {Key: "c", Op: reloader.KeyAdded}}
)

// Every field of every record is set, so that a field whose name or meaning moves shows up here.
var (
	wholeHint = reloader.Hint{
		Cluster: "blue", Config: prices, Verb: reloader.VerbPatch, Source: reloader.SourceAudit, Actor: alice,
		AuditID: "0b0e-77", Code: 200, Time: at, Received: at.Add(time.Second),
	}
	wholeChange = reloader.Change{
		ID: "c-1", Cluster: "blue", Config: prices, Type: reloader.ChangeUpdated, UID: "u-1", ResourceVersion: "77",
		Old: before, New: after, Keys: keys, Candidates: []reloader.Candidate{candidate}, Source: reloader.SourceAudit,
		RequestedAt: at, ReceivedAt: at.Add(time.Second), VerifiedAt: at.Add(2 * time.Second),
		Shortened: true,
	}
	wholeReload = reloader.Reload{
		ID:        "r-1",
		Cluster:   "blue",
		Workload:  storage,
		Dialect:   "stakater",
		Strategy:  "env-vars",
		Outcome:   reloader.ReasonReloaded,
		Message:   "rolled",
		DecidedAt: at, PatchedAt: at.Add(time.Second), LatencySeconds: 1.5,
		Rollout:   rolledOut,
		Requested: "new certificates", Pods: &reloader.Asked{Asked: 3, Answered: 2, Failed: 1, Names: []string{"web-1"}},
		Shortened: true,
		Causes: []reloader.Cause{{
			ChangeID: "c-1", Config: prices, Why: reloader.ReasonNamed, Clause: "configmap.reloader.stakater.com/reload",
			OldSum: "aa11", NewSum: "bb22", Keys: keys, Candidates: []reloader.Candidate{candidate}, Source: reloader.SourceAudit,
			RequestedAt: at, ReceivedAt: at.Add(time.Second), VerifiedAt: at.Add(2 * time.Second), Container: "main",
		}},
	}
	wholeWorkload = reloader.WorkloadRecord{
		Cluster:   "blue",
		Workload:  storage,
		UID:       "u-2",
		Dialect:   "stakater",
		Strategy:  "annotations",
		Standing:  reloader.Standing{LastReload: "r-1", Rollout: rolledOut, WaitsSince: at.Add(-time.Second), Rolls: 7, Hold: &reloader.Hold{Reason: reloader.ReasonRefused, Message: "forbidden", Since: at, Due: at.Add(time.Minute), Attempts: 12}},
		UpdatedAt: at,
		Problems:  []string{"bad pattern"}, Missing: []reloader.Missing{{Config: prices, Keys: []string{"a"}, Meant: "b, which it has", Required: true, Awaited: true, Pattern: "app-*", Clause: "reroll.dev/configmaps", Unreadable: "forbidden"}},
		Dormant: true,
		Keys:    "used,*.yaml,!debug*",
		Edges: []reloader.Edge{{
			Config: prices, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", UsedKeys: true, Restarts: "it is used as env", Pending: "c-2",
			Uses:    []reloader.Use{{How: "env", Container: "main", Keys: []string{"a"}, SubPath: true}},
			Applied: reloader.Digest{KeyID: "k1", Sum: "aa11", Keys: reloader.KeySums(map[string]string{"a": "1"})}, How: reloader.ReasonBaseline, At: at,
		}},
		Shortened: true,
	}
	rolledOut = &reloader.Rollout{
		Result: reloader.ReasonWaitingForOperator, Message: "it is paused: spec.paused", StartedAt: at.Add(time.Second), EndedAt: at.Add(3 * time.Second), Undone: true,
	}
	wholeCluster = reloader.ClusterStatus{
		Cluster:   "blue",
		UID:       "u-9",
		Namespace: "ops",
		Version:   "v1.2.3", Instance: "reroll-0", StartedAt: at, Ready: true, DryRun: true, Notifies: true, Faults: []string{"nats: away"},
		At:      at.Add(time.Hour),
		Hearing: reloader.Hearing{Source: "auto", Sources: []reloader.SourceStatus{{Source: reloader.SourceAudit, Hints: 12, LastAt: at.Add(time.Minute)}}, Feeds: []reloader.FeedStatus{{Address: "10.0.0.1:6443", State: "heard", LastAt: at.Add(2 * time.Minute), Quiet: []reloader.ConfigKind{reloader.Secret}}}, SweptAt: at.Add(3 * time.Minute), Drift: 2},
		Backlog: reloader.Backlog{Workloads: 5, Pending: 3, Held: map[reloader.Reason]int{reloader.ReasonFrozen: 2}, OldestPendingAt: at.Add(-time.Minute), HintsPending: 41, Freeze: &reloader.Pause{Namespace: "shop", Selector: "app=cart", Reason: "release", Until: at.Add(2 * time.Hour), By: "alice", Since: at}, Pauses: []reloader.Pause{{Namespace: "shop", Selector: "app=cart", Until: at.Add(3 * time.Hour), Reason: "sale", By: "bob", Since: at}}, Windows: []reloader.Window{{Schedule: "0 22 * * 1-5 6h", Open: true, Next: at.Add(4 * time.Hour)}}, ControlProblem: "ConfigMap reroll-control: control.yaml: unknown field"},
	}
	wholeWant     = reloader.Want{Owner: "blue", Target: "green", Configs: []reloader.Follow{{Config: prices, Number: 1795323600000000000}}}
	wholePosition = reloader.Position{
		Of: "HISTORY", UID: "u-9", Stream: at, Sequence: 7, StoredAt: at.Add(time.Minute), Since: 3, Behind: 2, At: at.Add(time.Hour),
		Gaps: []reloader.Gap{{Lost: true, Records: 3, After: 5, At: at}},
	}
	wholeCopy = reloader.Copy{Owner: "blue", Target: "green", Config: prices, Change: wholeChange, Refused: "no", Answers: 1795323600000000000, At: at}
)

func TestGolden(t *testing.T) {
	t.Run("hint", func(t *testing.T) { golden(t, "hint", wholeHint) })
	t.Run("change", func(t *testing.T) { golden(t, "change", wholeChange) })
	t.Run("reload", func(t *testing.T) { golden(t, "reload", wholeReload) })
	t.Run("workload", func(t *testing.T) { golden(t, "workload", wholeWorkload) })
	t.Run("cluster", func(t *testing.T) { golden(t, "cluster", wholeCluster) })
	t.Run("want", func(t *testing.T) { golden(t, "want", wholeWant) })
	t.Run("position", func(t *testing.T) { golden(t, "position", wholePosition) })
	t.Run("copy", func(t *testing.T) { golden(t, "copy", wholeCopy) })
}

// golden checks that want, in which every field is set, is written as the file of this version has it, and read as it was.
func golden[R reloader.Record](t *testing.T, name string, want R) {
	if field := unset(reflect.ValueOf(want), name); field != "" {
		t.Errorf("%s is not set, so that no file shows how it is written", field)
	}
	path := filepath.Join("testdata", "wire", fmt.Sprintf("%s.v%d.json", name, reloader.WireVersion))
	encoded, err := reloader.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, append(encoded, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bytes.TrimSpace(data)), string(encoded)); diff != "" {
		t.Errorf("%s is written differently now: %s", path, diff)
	}
	got, err := reloader.Decode[R](data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s is read differently now: %v %s", path, err, diff)
	}
}

// unset names a field below v that is on the wire and zero; empty if there is none.
func unset(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return unset(v.Elem(), path)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			return unset(v.Index(0), path)
		}
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			break
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name := path + "." + field.Name
			if field.Tag.Get("json") == "-" || strings.HasSuffix(name, "Config.Cluster") || strings.HasSuffix(name, "Configs.Cluster") {
				continue // a config of another cluster has its own test
			}
			if found := unset(v.Field(i), name); found != "" {
				return found
			}
		}
		return ""
	}
	if v.IsZero() {
		return path
	}
	return ""
}

func TestDecodeRefuses(t *testing.T) {
	const named = `"cluster":"blue","config":{"kind":"Secret","namespace":"shop","name":"a"}`
	cases := map[string]struct {
		data   string
		decode func([]byte) error
		is     error
		reason string
	}{
		"newer version": {
			data: `{"v":2,` + named + `}`, decode: decodes[reloader.Hint], is: reloader.ErrNewerVersion, reason: "it is not dropped without a word",
		},
		"no version":  {data: `{` + named + `}`, decode: decodes[reloader.Hint], reason: "it is not ours"},
		"two records": {data: `{"v":1,` + named + `}{}`, decode: decodes[reloader.Hint], reason: "one message is one record"},
		"null":        {data: `null`, decode: decodes[reloader.WorkloadRecord], reason: "it has no version"},
		"too large": {
			data: `{"v":1,"x":"` + strings.Repeat("x", reloader.MaxWireBytes) + `"}`, decode: decodes[reloader.Hint], reason: "memory is bounded",
		},
		"wildcard as a name": {
			data:   `{"v":1,"cluster":"blue","config":{"kind":"Secret","namespace":"shop","name":">"}}`,
			decode: decodes[reloader.Hint], is: reloader.ErrInvalidName, reason: "names become subjects",
		},
		"nameless change": {
			data:   `{"v":1,"cluster":"blue","config":{"kind":"Secret","namespace":"shop"}}`,
			decode: decodes[reloader.Change], is: reloader.ErrInvalidName, reason: "only a hint is about a whole namespace",
		},
		"nameless workload": {
			data:   `{"v":1,"cluster":"blue","workload":{"kind":"Deployment","namespace":"shop"}}`,
			decode: decodes[reloader.Reload], is: reloader.ErrInvalidName, reason: "there is none without a name",
		},
		"long user": {
			data:   `{"v":1,` + named + `,"actor":{"user":"` + strings.Repeat("x", reloader.MaxUserLength+1) + `"}}`,
			decode: decodes[reloader.Hint], reason: "text of clients is bounded",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.decode([]byte(c.data))
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v, want %v: %s", err, c.is, c.reason)
			}
			if len(err.Error()) > 1024 {
				t.Errorf("the error repeats what it refuses: %d bytes", len(err.Error()))
			}
		})
	}
}

func TestDecodeIgnoresWhatItDoesNotKnow(t *testing.T) {
	encoded, err := reloader.Encode(wholeHint)
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte(`{"added":{"later":true},`), encoded[1:]...)
	got, err := reloader.Decode[reloader.Hint](later)
	if diff := cmp.Diff(wholeHint, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func decodes[R reloader.Record](data []byte) error {
	_, err := reloader.Decode[R](data)
	return err
}

func FuzzDecodeHint(f *testing.F)     { fuzz(f, wholeHint) }
func FuzzDecodeChange(f *testing.F)   { fuzz(f, wholeChange) }
func FuzzDecodeReload(f *testing.F)   { fuzz(f, wholeReload) }
func FuzzDecodeWorkload(f *testing.F) { fuzz(f, wholeWorkload) }
func FuzzDecodeCluster(f *testing.F)  { fuzz(f, wholeCluster) }
func FuzzDecodeWant(f *testing.F)     { fuzz(f, wholeWant) }
func FuzzDecodeCopy(f *testing.F)     { fuzz(f, wholeCopy) }

// fuzz checks that whatever is decoded can be encoded, and is the same after that.
func fuzz[R reloader.Record](f *testing.F, whole R) {
	seed, err := reloader.Encode(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"V":3,"cluster":"a","config":{"kind":"Secret","namespace":"n"},"workload":{"kind":"K","namespace":"n","name":"w"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := reloader.Decode[R](data)
		if err != nil {
			return
		}
		once, err := reloader.Encode(r)
		if err != nil {
			// Escapes may make it longer than it came.
			if 8*len(data) > reloader.MaxWireBytes {
				return
			}
			t.Fatal(err)
		}
		again, err := reloader.Decode[R](once)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", once, err)
		}
		twice, err := reloader.Encode(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v: %s became %s", err, once, twice)
		}
	})
}
