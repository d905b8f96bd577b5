// Package guide reads the commands of a document, so that tests can run what readers would.
package guide

import (
	"os"
	"regexp"
	"strings"
)

var (
	heading = regexp.MustCompile(`(?m)^## (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```sh\n(.*?)\n```$")
)

// Section is a part of a document, and the commands in its fences for a shell, in their order. Fences of other kinds are for readers alone.
type Section struct {
	// Name is the heading's; that before the first heading is empty.
	Name     string
	Commands []string
}

// Read returns the sections of a document that have commands.
func Read(file string) ([]Section, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(content)
	var sections []Section
	add := func(name, text string) {
		s := Section{Name: name}
		for _, command := range fenced.FindAllStringSubmatch(text, -1) {
			s.Commands = append(s.Commands, command[1])
		}
		if s.Commands != nil {
			sections = append(sections, s)
		}
	}
	start, name := 0, ""
	for _, at := range heading.FindAllStringSubmatchIndex(text, -1) {
		add(name, text[start:at[0]])
		start, name = at[1], strings.TrimSpace(text[at[2]:at[3]])
	}
	add(name, text[start:])
	return sections, nil
}
