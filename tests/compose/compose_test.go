package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// suiteTime bounds everything, stepTime one wait: nine programs start at once. askTime bounds one question.
const (
	suiteTime = 20 * time.Minute
	stepTime  = 4 * time.Minute
	askTime   = 10 * time.Second
)

// TestCompose rolls a Deployment, and again after the death of a NATS server.
func TestCompose(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	e := newEngine(ctx, t)
	e.makeImages(ctx, t)
	e.up(ctx, t)

	e.kubectl(ctx, t, "create", "configmap", "settings", "--from-literal=colour=blue")
	e.kubectl(ctx, t, "create", "deployment", "web", "--image=none.example/web")
	e.kubectl(ctx, t, "set", "env", "deployment/web", "--from=configmap/settings")
	e.kubectl(ctx, t, "annotate", "deployment", "web", "reloader.stakater.com/auto=true")
	e.await(ctx, t, "/api/v1/workloads/compose/default/Deployment/web", `"handled"`, 1)

	e.kubectl(ctx, t, "patch", "configmap", "settings", `--patch={"data":{"colour":"red"}}`)
	e.await(ctx, t, "/api/v1/reloads?namespace=default", `"outcome":"Reloaded"`, 1)
	e.await(ctx, t, "/api/v1/reloads?namespace=default", `"user":"admin"`, 1) // which only an audit event says
	e.kubectl(ctx, t, "rollout", "status", "deployment/web", "--watch=false") // the controller has seen the new template
	if replicaSets := e.kubectl(ctx, t, "get", "replicasets", "-o", "name"); strings.Count(replicaSets, "web") < 2 {
		t.Errorf("no new ReplicaSet: %s", replicaSets)
	}

	e.docker(ctx, t, "kill", e.name("nats-1"))
	e.kubectl(ctx, t, "patch", "configmap", "settings", `--patch={"data":{"colour":"green"}}`)
	e.await(ctx, t, "/api/v1/reloads?namespace=default", `"outcome":"Reloaded"`, 2)
}

// await waits until an answer of the API has a text n times.
func (e *engine) await(ctx context.Context, t *testing.T, path, text string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		told := e.ask(ctx, path)
		if strings.Count(told, text) < n {
			return fmt.Errorf("%s: %s", path, told)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ask returns an answer of the API, or why there is none.
func (e *engine) ask(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	address, err := e.published(ctx, "api", "8080")
	if err != nil {
		return err.Error()
	}
	return get(ctx, "http://"+address+path)
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// get returns an answer of the API without spaces, or why there is none.
func get(ctx context.Context, url string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	var answer json.RawMessage
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil {
		return err.Error()
	}
	// Numbers and texts stay as they are; only the layout goes.
	text, err := json.Marshal(answer)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
