package dialect

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// name is one entry of a list of names: a config, or all of a kind and namespace whose names match a glob.
type name struct {
	config reloader.Config
	// glob is nil if config has the whole name.
	glob *regexp.Regexp
}

func (n name) match(c reloader.Config) bool {
	if n.glob == nil {
		return n.config == c
	}
	return n.config.Kind == c.Kind && n.config.Cluster == c.Cluster && n.config.Namespace == c.Namespace && n.glob.MatchString(c.Name)
}

// nameParser reads a list of names of one kind of config for a workload of a namespace.
type nameParser func(list string, kind reloader.ConfigKind, namespace string) (names []name, problems []string)

// parseNames reads a list of names. Spaces around the entries do not count; entries that no config can be called are left out and
// named in problems.
func parseNames(list string, kind reloader.ConfigKind, namespace string) ([]name, []string) {
	return parseEach(list, func(text string) (name, error) {
		c := reloader.Config{Kind: kind, Namespace: namespace, Name: text}
		if of, in, ok := strings.Cut(text, "/"); ok {
			c.Namespace, c.Name = of, in
		}
		if c.Name == "" {
			return name{}, fmt.Errorf("%w: it has no name", reloader.ErrInvalidName)
		}
		return name{config: c}, c.Validate()
	})
}

// errNamespace is that of a list that is about the workload's own namespace.
var errNamespace = fmt.Errorf("%w: this list is about the workload's own namespace", reloader.ErrInvalidName)

// parseLocalNames is parseNames for lists that cannot name another namespace.
func parseLocalNames(list string, kind reloader.ConfigKind, namespace string) ([]name, []string) {
	return parseEach(list, func(text string) (name, error) {
		if strings.Contains(text, "/") {
			return name{}, errNamespace
		}
		c := reloader.Config{Kind: kind, Namespace: namespace, Name: text}
		return name{config: c}, c.Validate()
	})
}

// parseGlobs is parseNames for lists that may have globs.
func parseGlobs(list string, kind reloader.ConfigKind, namespace string) ([]name, []string) {
	return parseEach(list, func(text string) (name, error) {
		if !strings.ContainsAny(text, "*?") {
			names, problems := parseNames(text, kind, namespace)
			if len(problems) > 0 {
				return name{}, fmt.Errorf("%w: it is neither a name nor a glob", reloader.ErrInvalidName)
			}
			return names[0], nil
		}
		glob, err := compileGlob(text)
		return name{config: reloader.Config{Kind: kind, Namespace: namespace, Name: text}, glob: glob}, err
	})
}

// parseEach reads the entries of a list within the limits of lists.
func parseEach(list string, parse func(text string) (name, error)) (names []name, problems []string) {
	if len(list) > maxListBytes {
		return nil, []string{fmt.Sprintf("the list has %d bytes, more than %d, and is not read", len(list), maxListBytes)}
	}
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if len(names)+len(problems) >= maxItems {
			return names, append(problems, fmt.Sprintf("the list has more than %d items, and what follows is not read", maxItems))
		}
		n, err := parse(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("item %.80q is left out: %v", text, err))
			continue
		}
		names = append(names, n)
	}
	return names, problems
}

// globCharacters are those that a glob may have: of names of configs and of keys, and * and ?.
var globCharacters = regexp.MustCompile(`^[-._a-zA-Z0-9*?]+$`)

// compileGlob returns the expression that matches what a glob matches, as a whole.
func compileGlob(text string) (*regexp.Regexp, error) {
	if len(text) > maxItemLength {
		return nil, errItemLength
	}
	if !globCharacters.MatchString(text) {
		return nil, fmt.Errorf("%w: a glob has letters, digits, -, _, ., * and ? only", reloader.ErrInvalidName)
	}
	quoted := regexp.QuoteMeta(text)
	quoted = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
	return regexp.Compile(`^(?s:` + quoted + `)$`)
}
