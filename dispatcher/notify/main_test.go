package notify

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// missing makes tests write golden files that do not exist. Those of a version are never edited: receivers were written for them.
var missing = flag.Bool("write-missing", false, "write golden files that do not exist")

var (
	at      = time.Date(2026, 11, 21, 6, 30, 0, 123456789, time.UTC)
	storage = reloader.WorkloadRef{Kind: "StatefulSet", Namespace: "shop", Name: "storage"}
	prices  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "prices.v2"}
	token   = reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "token"}
)

// cause returns a change of c, verified so many seconds after at.
func cause(id string, c reloader.Config, second int, from, to string, keys ...reloader.KeyChange) reloader.Cause {
	return reloader.Cause{
		ChangeID: id, Config: c, Why: reloader.ReasonNamed, Clause: "configmap.reloader.stakater.com/reload", OldSum: from, NewSum: to,
		Keys: keys, Source: reloader.SourceAudit, VerifiedAt: at.Add(time.Duration(second) * time.Second),
		Candidates: []reloader.Candidate{{
			Actor: reloader.Actor{User: "alice@" + id, UserAgent: "kubectl", SourceIP: "10.0.0.7"}, Verb: reloader.VerbPatch,
			AuditID: "0b0e-77", Time: at.Add(time.Duration(second)*time.Second - time.Second), Sure: true,
		}},
	}
}

func key(name string, op string) reloader.KeyChange {
	return reloader.KeyChange{Key: name, Op: op}
}

// reload returns a reload of storage that was done because of causes.
func reload(causes ...reloader.Cause) reloader.Reload {
	return reloader.Reload{
		ID: reloader.ReloadID("blue", "u-2", causes), Cluster: "blue", Workload: storage, Dialect: "stakater", Strategy: "env-vars",
		Outcome: reloader.ReasonReloaded, Causes: causes, DecidedAt: at.Add(5 * time.Second),
	}
}

const (
	sumA = "aaaaaaaaaaaa1111aaaaaaaaaaaa1111aaaaaaaaaaaa1111aaaaaaaaaaaa1111"
	sumB = "bbbbbbbbbbbb2222bbbbbbbbbbbb2222bbbbbbbbbbbb2222bbbbbbbbbbbb2222"
	sumC = "cccccccccccc3333cccccccccccc3333cccccccccccc3333cccccccccccc3333"
)

// golden checks that got is what the file holds.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if _, err := os.Stat(path); err != nil && *missing {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
	}
}

// received is a request as a receiver sees it.
type received struct {
	Method, URI, Host string
	Header            http.Header
	Body              string
}

// receiver is a real server that passes on what it gets and answers with a status.
func receiver(t *testing.T, status int) (url string, requests <-chan received) {
	t.Helper()
	got := make(chan received, 64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		got <- received{r.Method, r.RequestURI, r.Host, r.Header, string(body)}
		w.Header().Set("Location", "http://[hunter2:"+r.RequestURI)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}
