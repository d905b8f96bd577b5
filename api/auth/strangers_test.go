//go:build nightly

package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/reroll-dev/reroll/api"
)

// judged answers a TokenReview: tokens that begin with "good" are those of a user.
func judged(r *authenticationv1.TokenReview) int {
	if strings.HasPrefix(r.Spec.Token, "good") {
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "alice"}}
	} else {
		r.Status.Error = "it is nobody's"
	}
	return http.StatusCreated
}

func from(address, token string) *http.Request {
	r := request(token)
	r.RemoteAddr = address + ":1234"
	return r
}

// TestStrangersDelayNoUser: the API server answers no question about a token that it does not know, and strangers with made-up tokens from
// many addresses wait for it. The token of a user is reviewed all the same, and so are the user's rights.
func TestStrangersDelayNoUser(t *testing.T) {
	asked, release := make(chan struct{}, 4*reviewBurst), make(chan struct{})
	g := gate(t, func(r *authenticationv1.TokenReview) int {
		if !strings.HasPrefix(r.Spec.Token, "good") {
			asked <- struct{}{}
			<-release
		}
		return judged(r)
	}, allowed)
	if _, ok, err := g.Authenticate(from("10.0.0.1", "good")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(release)
	for n := range 4 * reviewBurst {
		waiting.Go(func() {
			_, _, _ = g.Authenticate(from(fmt.Sprintf("10.1.%d.%d", n/200, n%200), fmt.Sprint("made-up-", n)))
		})
	}
	for range strangersAtOnce {
		<-asked
	}
	u, ok, err := g.Authenticate(from("10.0.0.1", "good"))
	if !ok || err != nil {
		t.Errorf("a user among strangers: %t %v", ok, err)
	}
	for n := range reviewBurst {
		if ok, err := g.Allowed(t.Context(), u, api.Deed{Verb: "list", Resource: "changes", Namespace: fmt.Sprint("ns-", n)}); !ok || err != nil {
			t.Fatalf("the rights of a user among strangers: %t %v", ok, err)
		}
	}
}

// TestFailuresOfOneAddress: an address may send so many refused tokens at once, each of which is asked about once. After that its new tokens
// are not asked about, a token that was accepted before is, and other addresses are not affected.
func TestFailuresOfOneAddress(t *testing.T) {
	var asked atomic.Int64
	g := gate(t, func(r *authenticationv1.TokenReview) int { asked.Add(1); return judged(r) }, allowed)
	if _, ok, _ := g.Authenticate(from("10.0.0.1", "good")); !ok {
		t.Fatal("a good token is refused")
	}
	began, refused, spared := time.Now(), 0, 0
	for n := range 10 * failureBurst {
		_, ok, err := g.Authenticate(from("10.0.0.1", fmt.Sprint("made-up-", n)))
		switch {
		case ok:
			t.Fatal("a made-up token is believed")
		case errors.Is(err, api.ErrTooManyFailures):
			spared++
		case err != nil:
			t.Fatal(err)
		default:
			refused++
		}
	}
	most := failureBurst + failureRate*int(time.Since(began)/time.Second+1)
	if refused < failureBurst || refused > most || spared == 0 || asked.Load() > int64(most)+1 {
		t.Errorf("%d refused, %d not asked about, %d questions; want %d to %d", refused, spared, asked.Load(), failureBurst, most)
	}
	before := asked.Load()
	if _, ok, err := g.Authenticate(from("10.0.0.1", "made-up-0")); ok || err != nil || asked.Load() != before {
		t.Errorf("a token that was refused a moment ago: %t %v, %d more questions", ok, err, asked.Load()-before)
	}
	if _, ok, err := g.Authenticate(from("10.0.0.1", "good")); !ok || err != nil {
		t.Errorf("an accepted token from that address: %t %v", ok, err)
	}
	if _, ok, err := g.Authenticate(from("10.0.0.2", "good too")); !ok || err != nil {
		t.Errorf("a new token from another address: %t %v", ok, err)
	}
}
