package dialect

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Limits on a list in one annotation. Items beyond them are left out, with a Problem.
const (
	// maxListBytes bounds the whole value; a longer list is not read at all, because a cut one would name other configs.
	// It is what Kubernetes lets all annotations of an object have together.
	maxListBytes = 256 << 10
	// maxItems bounds the items of a list of names and globs, and the expressions of a list of expressions, which may have maxNames plain names
	// as well. A name with a dot is an expression there.
	maxItems = 256
	maxNames = MaxConfigs
	// maxLiterals bounds the names of a list of literals, and maxFollowed the configs of other clusters.
	maxLiterals = 10_000
	maxFollowed = 64
	// maxItemLength bounds one expression. The name of a config has at most 253 characters.
	maxItemLength = 512
	// maxListSize bounds the instructions of all compiled expressions of a list together, which a few characters can multiply.
	maxListSize = 10_000
)

// items returns the items of a list, without the spaces around them and without empty ones.
func items(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(list, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}

// list is a list of configs, ready to be matched.
type list struct {
	// namespace is the workload's, and that of all patterns. home is the name of its cluster.
	namespace, home string
	// names are configs, whose Kind is empty if they may be of any kind that the clause is about.
	names    map[reloader.Config]struct{}
	patterns []pattern
	problems []string
	// size counts the instructions of the expressions.
	size int
}

// pattern is an item that can match several names.
type pattern struct {
	text       string
	expression *regexp.Regexp
}

// match reports whether p matches the whole of name. The expression stands alone, without anchors around it that could change its meaning, and
// prefers the longest match: if the whole name matches at all, that is what is found.
func (p pattern) match(name string) bool {
	at := p.expression.FindStringIndex(name)
	return at != nil && at[0] == 0 && at[1] == len(name)
}

func (l *list) match(c reloader.Config) bool {
	if l == nil {
		return false
	}
	_, named := l.names[c]
	_, anyKind := l.names[reloader.Config{Cluster: c.Cluster, Namespace: c.Namespace, Name: c.Name}]
	return named || anyKind || c.Cluster == "" && c.Namespace == l.namespace &&
		slices.ContainsFunc(l.patterns, func(p pattern) bool { return p.match(c.Name) })
}

// errFull ends the reading of a list.
var errFull = errors.New("and the rest is not read")

func tooMany(most int, what string) error {
	return fmt.Errorf("the list has more than %d %s, %w", most, what, errFull)
}

// lists are the grammars of lists: how an item is read, and how many there may be.
var lists = map[Grammar]struct {
	read func(l *list, item string) error
	most int
}{
	Names:       {(*list).readLocal, maxItems},
	NamesAcross: {(*list).readName, maxItems},
	Globs:       {(*list).readGlob, maxItems},
	Literals:    {(*list).readLiteral, maxListBytes},
	Regexps:     {(*list).readRegexp, maxListBytes},
	Followed:    {(*list).readFollowed, maxFollowed},
}

// readList reads a list on a workload in a namespace of the cluster home. Faulty items are left out and named in problems.
func readList(as Grammar, text, namespace, home string) *list {
	l := &list{namespace: namespace, home: home, names: map[reloader.Config]struct{}{}}
	if len(text) > maxListBytes {
		l.problems = []string{fmt.Sprintf("the list has %d bytes, more than %d, and is not read", len(text), maxListBytes)}
		return l
	}
	grammar, n := lists[as], 0
	for item := range items(text) {
		var err error
		if n++; n > grammar.most {
			err = tooMany(grammar.most, "items")
		} else {
			err = grammar.read(l, item)
		}
		switch {
		case errors.Is(err, errFull):
			l.problems = append(l.problems, err.Error())
			return l
		case err != nil && len(l.problems) < maxItems:
			l.problems = append(l.problems, fmt.Sprintf("item %.80q is left out: %v", item, err))
		}
	}
	return l
}

// add adds a name, at most as many as most.
func (l *list) add(namespace, name string, most int) error {
	if len(l.names) >= most {
		return tooMany(most, "names")
	}
	l.names[reloader.Config{Namespace: namespace, Name: name}] = struct{}{}
	return nil
}

// errNamespace is that of a list that is about the workload's own namespace.
var errNamespace = fmt.Errorf("%w: this list takes only names in the workload's own namespace", reloader.ErrInvalidName)

func (l *list) readLocal(item string) error {
	if strings.Contains(item, "/") {
		return errNamespace
	}
	return l.readName(item)
}

func (l *list) readName(item string) error {
	namespace, name, across := strings.Cut(item, "/")
	if !across {
		namespace, name = l.namespace, item
	}
	if name == "" {
		return fmt.Errorf("%w: it has no name", reloader.ErrInvalidName)
	}
	if err := (reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: name}).Validate(); err != nil {
		return err
	}
	return l.add(namespace, name, maxItems)
}

func (l *list) readGlob(item string) error {
	if !strings.ContainsAny(item, "*?") {
		if l.readName(item) != nil {
			return fmt.Errorf("%w: it is neither a name nor a glob", reloader.ErrInvalidName)
		}
		return nil
	}
	glob, err := compileGlob(item)
	if err == nil {
		l.patterns = append(l.patterns, pattern{item, glob})
	}
	return err
}

func (l *list) readLiteral(item string) error { return l.add(l.namespace, item, maxLiterals) }

var errFollowForm = errors.New("it is not cluster/namespace/configmap/name or cluster/namespace/secret/name")

func (l *list) readFollowed(item string) error {
	parts := strings.Split(item, "/")
	if len(parts) != 4 || parts[0] == "" || parts[3] == "" {
		return errFollowForm
	}
	i := slices.IndexFunc(plainConfigs, func(k reloader.ConfigKind) bool { return strings.EqualFold(string(k), parts[2]) })
	if i < 0 {
		return errFollowForm
	}
	c := reloader.Config{Cluster: parts[0], Kind: plainConfigs[i], Namespace: parts[1], Name: parts[3]}
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Cluster == l.home {
		c.Cluster = ""
	}
	l.names[c] = struct{}{}
	return nil
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"

var (
	errItemLength = fmt.Errorf("it has more than %d characters", maxItemLength)
	errSeparator  = errors.New("no config has such a name; separate names with commas")
	errListSize   = errors.New("the expressions of the list are too complex")
)

// readRegexp reads an expression. One that may be the name of a config, taken literally, is that as well.
func (l *list) readRegexp(item string) error {
	switch {
	case len(item) > maxItemLength:
		return errItemLength
	case strings.Trim(item, nameCharacters) == "":
		return l.add(l.namespace, item, maxNames)
	case strings.ContainsAny(item, "; \t\n") && strings.Trim(item, nameCharacters+".; \t\n") == "":
		return errSeparator
	}
	tree, err := syntax.Parse(item, syntax.Perl)
	if fault := (*syntax.Error)(nil); errors.As(err, &fault) {
		return fmt.Errorf("it is not a regular expression: %s", fault.Code) // without the expression, which may be long
	}
	size := programSize(tree)
	switch {
	case size > maxListSize-l.size:
		return errListSize
	case len(l.patterns) >= maxItems:
		return tooMany(maxItems, "expressions")
	}
	expression, err := regexp.Compile(item)
	if err != nil {
		return fmt.Errorf("it is not a regular expression: %w", err)
	}
	expression.Longest()
	l.size += size
	l.patterns = append(l.patterns, pattern{item, expression})
	if strings.Trim(item, nameCharacters+".") == "" {
		return l.add(l.namespace, item, maxNames+maxItems)
	}
	return nil
}

// programSize estimates the number of instructions that tree compiles to, from above, and stops counting beyond maxListSize.
func programSize(tree *syntax.Regexp) int {
	size := 2 + len(tree.Rune)
	for _, sub := range tree.Sub {
		size = min(size+programSize(sub), maxListSize+1)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1) + 1
	}
	return min(size, maxListSize+1)
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
