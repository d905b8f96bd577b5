package auth

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// tokenReviews returns how many TokenReviews the API server has answered.
func tokenReviews(ctx context.Context, t *testing.T) int {
	t.Helper()
	raw, err := shared.Kube.Client().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, sample := range regexp.MustCompile(`(?m)^apiserver_request_total\{[^}]*resource="tokenreviews"[^}]*\} (\S+)$`).FindAllSubmatch(raw, -1) {
		n, err := strconv.ParseFloat(string(bytes.TrimSpace(sample[1])), 64)
		if err != nil {
			t.Fatal(err)
		}
		total += int(n)
	}
	return total
}

// clientAt returns an HTTP client whose requests come from an address of the loopback.
func clientAt(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{TLSClientConfig: trust(), DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: wire.Over(transport)}
}

// TestStrangersDelayNobody: an address that sends 120 made-up tokens costs the API server a few questions. A user at the same address gets the
// first answer to each new question meanwhile, and so does a new user at another.
func TestStrangersDelayNobody(t *testing.T) {
	ctx := t.Context()
	const strangers, crowded, quiet = 120, "127.0.1.1", "127.0.1.2"
	ns := shared.Kube.Namespace(t)
	reader, late := caller{token: account(ctx, t, ns, "patient")}, caller{token: account(ctx, t, ns, "late")}
	grant(ctx, t, "", serviceAccount(ns, "patient"), "get", "list", "watch")
	judge(t, reader, matrix{"/api/v1/changes": 200})

	before, began := tokenReviews(ctx, t), time.Now()
	client, codes := clientAt(t, crowded), map[int]int{}
	for n := range strangers {
		code, _ := caller{token: fmt.Sprint("made-up-", n)}.askOnce(t, client, http.MethodGet, "/api/v1/self", nil)
		codes[code]++
		if n%10 != 9 {
			continue
		}
		path := fmt.Sprintf("/api/v1/changes?namespace=new-%d", n)
		if code, answer := reader.askOnce(t, client, http.MethodGet, path, nil); code != http.StatusOK {
			t.Fatalf("a user at the address of strangers: GET %s: %d %s", path, code, answer)
		}
	}
	if code, answer := late.askOnce(t, clientAt(t, quiet), http.MethodGet, "/api/v1/self", nil); code != http.StatusOK {
		t.Errorf("a new user at another address: %d %s", code, answer)
	}
	if codes[http.StatusUnauthorized]+codes[http.StatusTooManyRequests] != strangers || codes[http.StatusTooManyRequests] == 0 {
		t.Errorf("strangers were answered %v", codes)
	}
	// 20 at once and one a second for strangers, two for the new user, and one every ten seconds for the reader.
	asked, seconds := tokenReviews(ctx, t)-before, int(time.Since(began)/time.Second)+1
	if most := 20 + seconds + 2 + seconds/10 + 1; asked > most {
		t.Errorf("%d TokenReviews in %d s, want %d at most", asked, seconds, most)
	}
}
