package control

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// ErrUnreadable means that the document cannot be read.
var ErrUnreadable = errors.New("ConfigMap " + ConfigMap + " cannot be read, so everything is frozen")

// open reads and checks the document; none without a key.
func open(data map[string]string) (doc Document, c Control, err error) {
	if doc, err = read(data); err == nil {
		c, err = compile(doc)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return doc, c, err
}

func read(data map[string]string) (doc Document, err error) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if key != Key {
			return doc, fmt.Errorf("unknown key %.80q: it may have only the key %s", key, Key)
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(data[Key]))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return doc, inPlainWords(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return doc, fmt.Errorf("%s must be one document, without ---", Key)
	}
	var written map[string]any
	if err := yaml.Unmarshal([]byte(data[Key]), &written); err != nil {
		return doc, inPlainWords(err)
	}
	if freeze, ok := written["freeze"]; ok && freeze == nil {
		return doc, errors.New("freeze has no value: write freeze: {}, or remove it")
	}
	return doc, nil
}

// meanings are what the decoder says, and what it means.
var meanings = []struct {
	said  *regexp.Regexp
	means string
}{
	{regexp.MustCompile(`^field (.*) not found in type .*`), `unknown key "$1"`},
	{regexp.MustCompile(`^mapping key (.*) already defined at line .*`), `the key $1 is there twice`},
	{regexp.MustCompile("^cannot unmarshal !!map into .*"), "keys do not belong here"},
	{regexp.MustCompile("^cannot unmarshal !!seq into .*"), "a list does not belong here"},
	{regexp.MustCompile("^cannot unmarshal !!\\w+ (`.*`) into .*"), "$1 does not belong here"},
	{regexp.MustCompile(`^parsing time (".*?")( as|: ).*`), "$1 is not a time such as 2026-01-31T18:00:00Z"},
}

// inPlainWords returns the first fault that the decoder found, with its line and without the names of types.
func inPlainWords(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	prefix := "not valid YAML: "
	if faults := (*yaml.TypeError)(nil); errors.As(err, &faults) && len(faults.Errors) > 0 {
		text, prefix = faults.Errors[0], ""
	}
	line, said, ok := strings.Cut(text, ": ")
	if ok = ok && strings.HasPrefix(line, "line "); ok {
		text, line = said, line+": "
	} else {
		line = ""
	}
	for _, m := range meanings {
		if m.said.MatchString(text) {
			return errors.New(line + m.said.ReplaceAllString(text, m.means))
		}
	}
	return errors.New(line + prefix + text)
}
