package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/reloader"
)

// TestMain lets scripts run this binary as reroll, and under the names by which kubectl knows it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reroll": main, "kubectl-reroll": main, "kubectl_complete-reroll": main})
}

type fleetKey struct{}

// TestScripts runs the command line against a real API. A script in the folder fleet sees two clusters, others one.
func TestScripts(t *testing.T) {
	for folder, second := range map[string]bool{"testdata/script": false, "testdata/script/fleet": true} {
		testscript.Run(t, testscript.Params{
			Dir: folder,
			Setup: func(env *testscript.Env) error {
				f, err := newFleet(second)
				if err != nil {
					return err
				}
				env.Defer(f.Close)
				env.Setenv("REROLL_SERVER", f.URL)
				env.Values[fleetKey{}] = f
				return nil
			},
			Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "many": many, "serves": serves},
			UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		})
	}
}

// exits runs a command and compares the code that it ends with: exits CODE COMMAND…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended interface{ ExitCode() int }
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("code %d, want %d", got, want)
	}
}

// many records so many changes: many N.
func many(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	f := ts.Value(fleetKey{}).(*fleet)
	for i := range n {
		f.change("c-many-"+strconv.Itoa(i), reloader.ChangeUpdated, reloader.ConfigMap, "settings", "dave")
	}
}

// serves has REROLL_SERVER be a server that answers everything with a status and a body: serves STATUS BODY.
func serves(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked-With", r.Header.Get("Authorization"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(args[1]))
	}))
	ts.Defer(server.Close)
	ts.Setenv("REROLL_SERVER", server.URL)
}
