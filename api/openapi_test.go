package api

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the committed files that are generated from the code")

//go:generate go test . -run IsCommitted$ -update

// The committed document is what the code serves, so that a change of the contract shows in review.
func TestOpenAPIDocumentIsCommitted(t *testing.T) {
	const file = "openapi.json"
	served := newFixture(t).get(t, "/openapi.json")
	if served.Code != http.StatusOK {
		t.Fatalf("GET /openapi.json: %d", served.Code)
	}
	got := served.Body.String()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is served; run go test ./api -run %s -update (-committed +served):\n%s", file, t.Name(), diff)
	}
}

func TestOpenAPIDocumentIsValid(t *testing.T) {
	if err := served(t).Document(); err != nil {
		t.Error(err)
	}
}
