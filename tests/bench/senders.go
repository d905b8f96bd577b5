package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// apiServers is how many senders there are, each with a connection of its own.
	apiServers = 4
	// perSecond is how many batches an API server sends at most.
	perSecond = 10
	// names is how many Secrets the events are about.
	names = 3000
)

// tokens lets senders in that are no API server.
type tokens struct{ file, token string }

func newTokens() (tokens, error) {
	file, err := os.CreateTemp("", "reroll-bench-tokens-")
	if err != nil {
		return tokens{}, err
	}
	t := tokens{file: file.Name(), token: "a-token-that-opens-nothing-else"}
	_, err = fmt.Fprintf(file, "%s:%s\n", line.ClusterName, t.token)
	return t, errors.Join(err, file.Close())
}

func (t tokens) remove() { _ = os.Remove(t.file) } // the system clears what is left behind

// batch is how many events are in each post, so that the rate comes about.
func (b *bench) batch() int { return b.rate / apiServers / perSecond }

// answers are how long posts took until they were answered, and what was taken.
type answers struct {
	mu     sync.Mutex
	took   []time.Duration
	events int
	// codes are how many posts were answered with each status.
	codes map[int]int
	err   error
}

// String returns the distribution, and how many answers there were of each status.
func (a *answers) String() string {
	return fmt.Sprintf("%s; answers %v", percentiles(a.took), a.codes)
}

func (a *answers) add(took time.Duration, events, code int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took, a.err = append(a.took, took), errors.Join(a.err, err)
	a.codes[code]++
	if code == http.StatusNoContent {
		a.events += events
	}
}

// post has every sender post at its times, whether or not the last post is answered yet. Each answer is measured from the time at which
// its post was due, so that a delay counts for all that it delays.
func (b *bench) post(ctx context.Context, url string, roots *x509.CertPool) (*answers, error) {
	a := &answers{codes: map[int]int{}}
	var all sync.WaitGroup
	start := time.Now()
	for sender := range apiServers {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
		all.Go(func() {
			for n := range int(b.time.Seconds() * perSecond) {
				due := start.Add(time.Duration(n*apiServers+sender) * time.Second / (perSecond * apiServers))
				if !until(ctx, due) {
					return
				}
				body := events(b.batch(), (n*apiServers+sender)*b.batch())
				all.Go(func() {
					code, err := b.send(ctx, client, url, body)
					a.add(time.Since(due), b.batch(), code, err)
				})
			}
		})
	}
	all.Wait()
	return a, errors.Join(a.err, ctx.Err())
}

// until waits for a time; false means that ctx ended before.
func until(ctx context.Context, due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *bench) send(ctx context.Context, client *http.Client, url string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+b.token)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// nothing is the least that a receiver can do.
func nothing(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // who sends it notices
	w.WriteHeader(http.StatusNoContent)
}

// events returns n events, each about another Secret, as an API server sends them at the level Metadata. No two are alike.
func events(n, first int) []byte {
	var body bytes.Buffer
	body.WriteString(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		id, name := first+i, fmt.Sprintf("secret-%d", (first+i)%names)
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		fmt.Fprintf(&body, event, id, name, name, now, now)
	}
	body.WriteString("]}\n")
	return body.Bytes()
}

const event = `{"level":"Metadata","auditID":"7f0c6dd1-9e2b-4c55-8d0a-%012d","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/bench/secrets/%s?fieldManager=external-secrets","verb":"update",` +
	`"user":{"username":"system:serviceaccount:external-secrets:external-secrets","uid":"0c4a3f0e-1d55-4b0c-9f6a-0b8f2a3c7d11",` +
	`"groups":["system:serviceaccounts","system:serviceaccounts:external-secrets","system:authenticated"],` +
	`"extra":{"authentication.kubernetes.io/credential-id":["JTI=2b1c6a9e-58f2-4f8e-8f57-6a7b9f0e4c21"],` +
	`"authentication.kubernetes.io/node-name":["node-7"],"authentication.kubernetes.io/pod-name":["external-secrets-5d8f7c9b6-x2x7k"]}},` +
	`"sourceIPs":["10.42.7.19"],"userAgent":"external-secrets/v0.20.1 (linux/amd64) kubernetes/1a2b3c4",` +
	`"objectRef":{"resource":"secrets","namespace":"bench","name":"%s","uid":"5f0d0a3e-7b1c-4c0f-9d8e-3a2b1c0d4e5f","apiVersion":"v1",` +
	`"resourceVersion":"123456789"},"responseStatus":{"metadata":{},"code":200},` +
	`"requestReceivedTimestamp":"%s","stageTimestamp":"%s","annotations":{"authorization.k8s.io/decision":"allow",` +
	`"authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"external-secrets-controller\""}}`
