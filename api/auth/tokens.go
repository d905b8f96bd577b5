package auth

import (
	"context"
	"crypto/sha256"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/clients"
)

// Limits on what tokens can cost. Anybody can make up tokens, and each of them costs a question to the API server. So those that the API
// server has accepted lately are reviewed apart from all others.
const (
	// strangerQPS and strangerBurst are the rate of questions about tokens that were not accepted lately, from everybody together.
	strangerQPS, strangerBurst = 20, 40
	// strangersAtOnce bounds how many of these questions are under way, and strangersOfAddress those for one address.
	strangersAtOnce, strangersOfAddress = 32, 4
	// failureRate and failureBurst are how many refused tokens one address may send: so many a second, so many at once.
	failureRate, failureBurst = 1, 20
	// acquaintance is how long a token counts as accepted lately. That proves nothing: it is reviewed again every ten seconds.
	acquaintance = 10 * time.Minute
	// maxTokens bounds how many accepted tokens are remembered, and how many refused ones.
	maxTokens = 4096
)

// addressKey is the key of the client's address in the context of its request.
type addressKey struct{}

// tokens asks the API server about bearer tokens, so that those of strangers delay none that it knows.
type tokens struct {
	// known reviews tokens that were accepted lately, and remembers the answer for a while; strangers reviews all others.
	known, strangers authenticator.Token
	// accepted and refused have the SHA-256 of tokens: a flood of the one kind displaces none of the other.
	accepted, refused *cache.LRUExpireCache
	failures          *clients.Rates
	turns             *clients.Turns
	inFlight          *semaphore.Weighted
}

func newTokens(o Options) (*tokens, error) {
	known, err := connect(o.API, reviewQPS, reviewBurst)
	if err != nil {
		return nil, err
	}
	strangers, err := connect(o.API, strangerQPS, strangerBurst)
	if err != nil {
		return nil, err
	}
	return &tokens{
		known: tokencache.New(reviewer{known, o.Audiences}, false, remembered, remembered), strangers: reviewer{strangers, o.Audiences},
		accepted: cache.NewLRUExpireCache(maxTokens), refused: cache.NewLRUExpireCache(maxTokens),
		failures: clients.NewRates(failureRate, failureBurst), turns: clients.NewTurns(strangersOfAddress),
		inFlight: semaphore.NewWeighted(strangersAtOnce),
	}, nil
}

// AuthenticateToken returns whose token it is; ok is false if it is none.
func (t *tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	key := sha256.Sum256([]byte(token))
	address, _ := ctx.Value(addressKey{}).(string)
	if answer, ok, err, settled := t.remembered(ctx, key, address, token); settled {
		return answer, ok, err
	}
	done, err := t.turns.Take(ctx, address)
	if err != nil {
		return nil, false, err
	}
	defer done()
	if err := t.inFlight.Acquire(ctx, 1); err != nil {
		return nil, false, err
	}
	defer t.inFlight.Release(1)
	// Another request may have brought the same token while this one waited, or used up what the address may fail.
	if answer, ok, err, settled := t.remembered(ctx, key, address, token); settled {
		return answer, ok, err
	}
	answer, ok, err := t.strangers.AuthenticateToken(ctx, token)
	switch {
	case ok:
		t.accepted.Add(key, nil, acquaintance)
	case !unreachable(err):
		t.failures.Allow(address, time.Now())
		t.refused.Add(key, nil, remembered)
	}
	return answer, ok, err
}

// remembered answers without a stranger's question to the API server, if it can; settled says that it did.
func (t *tokens) remembered(ctx context.Context, key [sha256.Size]byte, address, token string) (answer *authenticator.Response, ok bool, err error, settled bool) {
	if _, known := t.accepted.Get(key); known {
		answer, ok, err = t.known.AuthenticateToken(ctx, token)
		if !ok && !unreachable(err) {
			t.accepted.Remove(key)
		}
		return answer, ok, err, true
	}
	if _, refused := t.refused.Get(key); refused {
		return nil, false, nil, true
	}
	if t.failures.Spent(address, time.Now()) {
		return nil, false, api.ErrTooManyFailures, true
	}
	return nil, false, nil, false
}
