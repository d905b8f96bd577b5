package control

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// open reads and checks the document; none without a key.
func open(data map[string]string) (doc Document, c Control, err error) {
	if doc, err = read(data); err == nil {
		c, err = compile(doc)
	}
	if err != nil {
		err = fmt.Errorf("ConfigMap %s cannot be read, so everything is frozen: %w", ConfigMap, err)
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
		return doc, firstFault(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return doc, fmt.Errorf("%s must be one document, without ---", Key)
	}
	var written map[string]any
	if err := yaml.Unmarshal([]byte(data[Key]), &written); err != nil {
		return doc, firstFault(err)
	}
	if freeze, ok := written["freeze"]; ok && freeze == nil {
		return doc, errors.New("freeze has no value: write freeze: {}, or remove it")
	}
	return doc, nil
}

// firstFault returns the first of several faults, which begins with its line, without the names of types.
func firstFault(err error) error {
	if faults := (*yaml.TypeError)(nil); errors.As(err, &faults) && len(faults.Errors) > 0 {
		text, _, _ := strings.Cut(faults.Errors[0], " in type ")
		return errors.New(text)
	}
	return err
}
