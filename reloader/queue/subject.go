package queue

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Subjects have four tokens after their prefix: cluster, kind, namespace, name. The kind is in lower case, so two kinds that
// differ only in case would meet; Kubernetes has none. A hint about a whole namespace has the name everyName.
const (
	hintPrefix     = "reroll.hint"
	changePrefix   = "reroll.change"
	reloadPrefix   = "reroll.reload"
	workloadPrefix = "$KV." + workloadsBucket
	clusterPrefix  = "$KV." + clustersBucket
	// followPrefix is followed by the owner and the target of a copy, and by the config as all subjects of configs are; wantPrefix by the
	// owner and the target alone.
	followPrefix = "reroll.follow"
	wantPrefix   = "reroll.want"
	// toldPrefix is before the subject of either when the stream passes it on to those who listen.
	toldPrefix = "reroll.told"
	everyName  = "_"
)

// escape makes s one token: every byte outside [a-z0-9-] becomes =XX. Different strings never give the same token, and none
// gives everyName, a wildcard, or an empty token unless s is empty.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := range len(s) {
		c := s[i]
		if isPlain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// unescape undoes escape, and accepts nothing that escape does not make.
func unescape(token string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		switch {
		case isPlain(c):
			b.WriteByte(c)
		case c == '=' && i+2 < len(token) && unhex(token[i+1]) >= 0 && unhex(token[i+2]) >= 0:
			raw := byte(unhex(token[i+1])<<4 | unhex(token[i+2]))
			if isPlain(raw) {
				return "", fmt.Errorf("token %.80q escapes a plain byte", token)
			}
			b.WriteByte(raw)
			i += 2
		default:
			return "", fmt.Errorf("token %.80q is not well formed at byte %d", token, i)
		}
	}
	return b.String(), nil
}

func isPlain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func join(prefix, cluster, kind, namespace, name string) string {
	last := everyName
	if name != "" {
		last = escape(name)
	}
	return strings.Join([]string{prefix, escape(cluster), escape(strings.ToLower(kind)), escape(namespace), last}, ".")
}

// configSubject returns the subject of c in cluster under prefix. It fails if Kubernetes would not accept the names.
func configSubject(prefix, cluster string, c reloader.Config) (string, error) {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return "", err
	}
	if err := c.Validate(); err != nil {
		return "", err
	}
	if c.Cluster != "" {
		return "", fmt.Errorf("%w: %s is a config of another cluster", reloader.ErrInvalidName, c)
	}
	if c.Name == "" && prefix != hintPrefix {
		return "", fmt.Errorf("%w: only a hint may be about a whole namespace", reloader.ErrInvalidName)
	}
	return join(prefix, cluster, string(c.Kind), c.Namespace, c.Name), nil
}

// workloadSubject returns the subject of ref in cluster under prefix. It fails if Kubernetes would not accept the names.
func workloadSubject(prefix, cluster string, ref reloader.WorkloadRef) (string, error) {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return "", err
	}
	if err := ref.Validate(); err != nil {
		return "", err
	}
	return join(prefix, cluster, ref.Kind, ref.Namespace, ref.Name), nil
}

// clusterFilter returns the filter for everything of cluster under prefix.
func clusterFilter(prefix, cluster string) (string, error) {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return "", err
	}
	return prefix + "." + escape(cluster) + ".>", nil
}

// place is what a subject names. Kind is in lower case.
type place struct{ cluster, kind, namespace, name string }

// parseSubject undoes join.
func parseSubject(prefix, subject string) (place, error) {
	rest, ok := strings.CutPrefix(subject, prefix+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 4 {
		return place{}, fmt.Errorf("subject %.200q is not of the form %s.cluster.kind.namespace.name", subject, prefix)
	}
	for i, token := range tokens {
		if i == 3 && token == everyName {
			tokens[i] = ""
			continue
		}
		s, err := unescape(token)
		if err != nil || s == "" {
			return place{}, fmt.Errorf("subject %.200q has a malformed token %d", subject, i+1)
		}
		tokens[i] = s
	}
	return place{tokens[0], tokens[1], tokens[2], tokens[3]}, nil
}

// config returns the config that p names, if it names one.
func (p place) config() (reloader.Config, error) {
	for _, kind := range reloader.ConfigKinds {
		if strings.ToLower(string(kind)) == p.kind {
			c := reloader.Config{Kind: kind, Namespace: p.namespace, Name: p.name}
			return c, c.Validate()
		}
	}
	return reloader.Config{}, fmt.Errorf("%w: no kind of config is called %.80q", reloader.ErrInvalidName, p.kind)
}
