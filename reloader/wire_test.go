package reloader_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// missing makes TestGolden write the files of a new version. It never writes over one that exists: what was written once is on
// disks out there, and has to be read for ever.
var missing = flag.Bool("write-missing", false, "write golden files that do not exist")

var (
	at      = time.Date(2026, 11, 21, 6, 30, 0, 123456789, time.UTC)
	prices  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "prices.v2"}
	storage = reloader.WorkloadRef{Kind: "StatefulSet", Namespace: "shop", Name: "storage"}
	alice   = reloader.Actor{
		User: "alice", AuthenticatedUser: "ci", UserAgent: "kubectl/v1.37.2 <linux>", SourceIP: "10.0.0.7", FieldManager: "kubectl-edit",
	}
	candidate = reloader.Candidate{
		Actor: alice, Verb: reloader.VerbPatch, AuditID: "0b0e-77", Time: at, Basis: reloader.BasisOnlyWriter,
	}
	before = reloader.Digest{KeyID: "k1", Sum: "aa11", Keys: map[string]string{"a": "1", "b": "2"}}
	after  = reloader.Digest{KeyID: "k1", Sum: "bb22", Keys: map[string]string{"a": "1", "c": "3"}}
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
	}
	wholeReload = reloader.Reload{
		ID: "r-1", Cluster: "blue", Workload: storage, UID: "u-2", Dialect: "stakater", Strategy: "env-vars",
		Outcome: reloader.ReasonReloaded, Message: "rolled", Attempts: 2, Generation: 5, DecidedAt: at, PatchedAt: at.Add(time.Second),
		Causes: []reloader.Cause{{
			ChangeID: "c-1", Config: prices, Why: reloader.ReasonNamed, Clause: "configmap.reloader.stakater.com/reload",
			OldSum: "aa11", NewSum: "bb22", Keys: keys, Candidates: []reloader.Candidate{candidate}, Source: reloader.SourceAudit,
			RequestedAt: at, ReceivedAt: at.Add(time.Second), VerifiedAt: at.Add(2 * time.Second), Container: "main",
		}},
	}
	wholeWorkload = reloader.WorkloadRecord{
		Cluster: "blue", Workload: storage, UID: "u-2", Dialect: "stakater", Strategy: "annotations", LastReload: "r-1", UpdatedAt: at,
		Problems: []string{"bad pattern"}, Hold: &reloader.Hold{Reason: reloader.ReasonRefused, Message: "forbidden", Since: at, Due: at.Add(time.Minute)},
		Edges: []reloader.Edge{{
			Config: prices, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", Pending: "c-2",
			Uses:    []reloader.Use{{How: "env", Container: "main", Keys: []string{"a"}}},
			Handled: reloader.Handled{KeyID: "k1", Sum: "aa11", How: reloader.ReasonBaseline, At: at, Mark: "m"},
		}},
	}
)

func TestGolden(t *testing.T) {
	t.Run("hint", func(t *testing.T) { golden(t, "hint", wholeHint) })
	t.Run("change", func(t *testing.T) { golden(t, "change", wholeChange) })
	t.Run("reload", func(t *testing.T) { golden(t, "reload", wholeReload) })
	t.Run("workload", func(t *testing.T) { golden(t, "workload", wholeWorkload) })
	t.Run("cluster", func(t *testing.T) { golden(t, "cluster", wholeCluster) })
}

// golden checks that this version's file is what Encode writes, and that it is read as want.
func golden[R reloader.Record](t *testing.T, name string, want R) {
	path := filepath.Join("testdata", "wire", fmt.Sprintf("%s.v%d.json", name, reloader.WireVersion))
	encoded, err := reloader.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *missing {
		data = append(encoded, '\n')
		err = os.WriteFile(path, data, 0o600)
	}
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

// TestEveryGoldenFileIsRead reads the files of all versions up to this one.
func TestEveryGoldenFileIsRead(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"hint":     decodes[reloader.Hint],
		"change":   decodes[reloader.Change],
		"reload":   decodes[reloader.Reload],
		"workload": decodes[reloader.WorkloadRecord],
		"cluster":  decodes[reloader.ClusterStatus],
	}
	for version := 1; version <= reloader.WireVersion; version++ {
		for name, decode := range decoders {
			data, err := os.ReadFile(filepath.Join("testdata", "wire", fmt.Sprintf("%s.v%d.json", name, version)))
			if err == nil {
				err = decode(data)
			}
			if err != nil {
				t.Errorf("%s of version %d: %v", name, version, err)
			}
		}
	}
}

func decodes[R reloader.Record](data []byte) error {
	_, err := reloader.Decode[R](data)
	return err
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
		"not JSON":    {data: `reroll`, decode: decodes[reloader.Change], reason: "it says nothing"},
		"empty":       {data: ``, decode: decodes[reloader.Reload], reason: "it says nothing"},
		"null":        {data: `null`, decode: decodes[reloader.WorkloadRecord], reason: "it has no version"},
		"too large": {
			data: `{"v":1,"x":"` + strings.Repeat("x", reloader.MaxWireBytes) + `"}`, decode: decodes[reloader.Hint], reason: "memory is bounded",
		},
		"wildcard as a name": {
			data:   `{"v":1,"cluster":"blue","config":{"kind":"Secret","namespace":"shop","name":">"}}`,
			decode: decodes[reloader.Hint], is: reloader.ErrInvalidName, reason: "names become subjects",
		},
		"cluster with a dot": {
			data:   `{"v":1,"cluster":"a.b","config":{"kind":"Secret","namespace":"shop","name":"a"}}`,
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

func TestEncodeRefusesWhatCannotBeDecoded(t *testing.T) {
	r := wholeCluster
	r.Version = strings.Repeat("x", reloader.MaxWireBytes)
	if data, err := reloader.Encode(r); err == nil {
		t.Errorf("encoded %d bytes", len(data))
	}
}

func FuzzDecodeHint(f *testing.F)     { fuzz(f, wholeHint) }
func FuzzDecodeChange(f *testing.F)   { fuzz(f, wholeChange) }
func FuzzDecodeReload(f *testing.F)   { fuzz(f, wholeReload) }
func FuzzDecodeWorkload(f *testing.F) { fuzz(f, wholeWorkload) }
func FuzzDecodeCluster(f *testing.F)  { fuzz(f, wholeCluster) }

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
