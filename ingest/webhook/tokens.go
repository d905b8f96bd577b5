package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// tokens are the bearer tokens of clusters, kept as their SHA-256 only.
type tokens []token

type token struct {
	cluster string
	sum     [sha256.Size]byte
}

// parseTokens reads lines of cluster:token. Empty lines and those that begin with # mean nothing. A cluster may have several
// tokens, so that they can be rotated; a token belongs to one cluster. No error quotes a token.
func parseTokens(text []byte) (tokens, error) {
	var out tokens
	lines := map[[sha256.Size]byte]int{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if first, repeated := lines[t.sum]; repeated {
			return nil, fmt.Errorf("line %d repeats the token of line %d", i+1, first)
		}
		if len(out) == maxTokens {
			return nil, fmt.Errorf("line %d: more than %d tokens", i+1, maxTokens)
		}
		lines[t.sum] = i + 1
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, errors.New("holds no token")
	}
	return out, nil
}

func parseToken(line string) (token, error) {
	cluster, secret, found := strings.Cut(line, ":")
	if !found {
		return token{}, errors.New("not of the form cluster:token")
	}
	if reloader.ValidateCluster(cluster) != nil {
		return token{}, errors.New("the text before the colon is not a DNS-1123 label")
	}
	if len(secret) < minTokenLength || len(secret) > maxTokenLength {
		return token{}, fmt.Errorf("the token has %d characters, not %d to %d", len(secret), minTokenLength, maxTokenLength)
	}
	for _, c := range []byte(secret) {
		if c <= ' ' || c > '~' {
			return token{}, errors.New("the token has a character that is not printable ASCII, or a space")
		}
	}
	return token{cluster: cluster, sum: sha256.Sum256([]byte(secret))}, nil
}

// cluster returns the cluster of secret, or nothing. How long it takes does not depend on which tokens there are.
func (t tokens) cluster(secret string) string {
	sum, found := sha256.Sum256([]byte(secret)), -1
	for i := range t {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t[i].sum[:]), i, found)
	}
	if found < 0 {
		return ""
	}
	return t[found].cluster
}
