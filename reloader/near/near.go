// Package near finds the name that a misspelt one was probably meant to be. It is pure.
package near

import (
	"slices"
	"strings"
)

// Limits of likeness.
const (
	// maxTypos is how many letters may be wrong in what is taken for a misspelling, but no more than one of lettersPerTypo.
	maxTypos       = 2
	lettersPerTypo = 3
	// longestLike bounds what is compared: names and keys of Kubernetes are shorter.
	longestLike = 320
)

// Word returns the word that text is most likely a misspelling of. Upper case counts as little as can be.
func Word(text string, words []string) (string, bool) {
	best, least := "", min(maxTypos, len(text)/lettersPerTypo)+1
	if len(text) > longestLike {
		return "", false
	}
	lower := strings.ToLower(text)
	for _, word := range words {
		if len(word)-len(text) > maxTypos || len(text)-len(word) > maxTypos || word == text {
			continue
		}
		if d := distance(lower, strings.ToLower(word), least); d < least {
			best, least = word, d
		}
	}
	return best, best != ""
}

// distance returns how many letters have to be changed, added, left out, or swapped with the next one to make b of a; below or more is all
// the same.
func distance(a, b string, below int) int {
	older, before, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		if slices.Min(row) >= below {
			return below
		}
		older, before, row = before, row, older
	}
	return before[len(b)]
}
