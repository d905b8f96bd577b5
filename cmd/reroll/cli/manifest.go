package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxManifests bounds what is read of a file of manifests.
const maxManifests = 64 << 20

// manifest is what is read of one object; never its content.
type manifest struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Items []manifest `json:"items"`
}

// configsInFile returns the configs among the manifests of a file; - is stdin.
func configsInFile(stdin io.Reader, name string) ([]ref, error) {
	if name == "-" {
		return configsIn(stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	refs, err := configsIn(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return refs, nil
}

// configsIn returns the configs among manifests, which may be in lists. Other objects are passed over.
func configsIn(r io.Reader) (refs []ref, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(io.LimitReader(r, maxManifests)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return refs, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var m manifest
		if err := yaml.Unmarshal(document, &m); err != nil {
			return nil, fmt.Errorf("document %d is not a manifest", n) // what is wrong with it could quote a Secret
		}
		refs = append(refs, m.configs()...)
	}
}

func (m manifest) configs() (refs []ref) {
	for _, item := range m.Items {
		refs = append(refs, item.configs()...)
	}
	if slices.Contains(configKinds(), m.Kind) && m.Metadata.Name != "" {
		refs = append(refs, ref{namespace: m.Metadata.Namespace, kind: m.Kind, name: m.Metadata.Name})
	}
	return refs
}
