package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits on a list of expressions in one annotation. What lies beyond them is left out, with a Problem.
const (
	// maxListBytes bounds the whole value; a longer list is not read at all, because a cut one would name other configs.
	// It is what Kubernetes lets all annotations of an object have together.
	maxListBytes = 256 << 10
	// maxItems bounds the number of expressions. Plain names do not count, of which there may be maxNames; a name with a dot is no plain one,
	// since the tool takes the dot for any character.
	maxItems = 256
	// maxItemLength bounds one expression. The name of a config has at most 253 characters.
	maxItemLength = 512
	// maxListSize bounds the instructions of all compiled expressions of the list together, which a few characters can multiply.
	maxListSize = 10_000
)

// item is one entry of a list of expressions.
type item struct {
	text string
	// expression is nil if text can only match itself.
	expression *regexp.Regexp
}

// match reports whether i matches the whole of name.
func (i item) match(name string) bool {
	if i.expression == nil {
		return i.text == name
	}
	// The expression stands alone, without anchors around it that could change its meaning, and prefers the longest match: if the
	// whole name matches at all, that is what is found.
	at := i.expression.FindStringIndex(name)
	return at != nil && at[0] == 0 && at[1] == len(name)
}

// couldBeName reports whether the text, taken literally, may be the name of a config that i matches.
func (i item) couldBeName() bool { return strings.Trim(i.text, nameCharacters+".") == "" }

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// parseList splits a list of expressions at its commas. Faulty entries are left out and named in problems; empty ones are skipped.
func parseList(value string) (items []item, problems []string) {
	if len(value) > maxListBytes {
		return nil, []string{fmt.Sprintf("the list has %d bytes, more than %d, and is not read", len(value), maxListBytes)}
	}
	size, count, names := 0, 0, 0
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		i, cost, err := parseItem(text, maxListSize-size)
		if err != nil {
			if len(problems) < maxItems {
				problems = append(problems, fmt.Sprintf("item %.80q is left out: %v", text, err))
			}
			continue
		}
		if i.expression == nil {
			names++
		} else {
			count++
		}
		switch {
		case count > maxItems:
			return items, append(problems, fmt.Sprintf("the list has more than %d expressions, and what follows is not read", maxItems))
		case names > maxNames:
			return items, append(problems, fmt.Sprintf("the list has more than %d names, and what follows is not read", maxNames))
		}
		size += cost
		items = append(items, i)
	}
	return items, problems
}

var (
	errItemLength = fmt.Errorf("it has more than %d characters", maxItemLength)
	errSeparator  = errors.New("no config has such a name; separate names with commas")
	errListSize   = errors.New("the expressions of the list are too complex")
)

// parseItem compiles one expression of at most budget instructions, and returns how many it has.
func parseItem(text string, budget int) (item, int, error) {
	if len(text) > maxItemLength {
		return item{}, 0, errItemLength
	}
	if strings.Trim(text, nameCharacters) == "" {
		return item{text: text}, 0, nil
	}
	if strings.ContainsAny(text, "; \t\n") && strings.Trim(text, nameCharacters+".; \t\n") == "" {
		return item{}, 0, errSeparator
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return item{}, 0, explain(err)
	}
	size := programSize(tree)
	if size > budget {
		return item{}, 0, errListSize
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return item{}, 0, explain(err)
	}
	expression.Longest()
	return item{text: text, expression: expression}, size, nil
}

// explain returns what is wrong with an expression without repeating it: it may be long.
func explain(err error) error {
	var fault *syntax.Error
	if errors.As(err, &fault) {
		return fmt.Errorf("it is no regular expression: %s", fault.Code)
	}
	return errors.New("it is no regular expression")
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

// listsLiterally reports whether name is an item of a list of names that are no expressions.
func listsLiterally(list, name string) bool {
	for text := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(text) == name {
			return true
		}
	}
	return false
}

// parseExcluded reads a list of names that are no expressions.
func parseExcluded(list string) excluded {
	e := excluded{names: map[string]struct{}{}}
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if len(e.names) >= maxExcluded {
			e.problem = fmt.Sprintf("the list has more than %d names, and what follows is not read", maxExcluded)
			return e
		}
		e.names[text] = struct{}{}
	}
	return e
}
