package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// maxManifests bounds what is read of a file of manifests.
const maxManifests = 64 << 20

// proposal is a config as a manifest has it.
type proposal struct {
	dialect.ConfigMeta
	content digest.Content
}

// proposalsInFile returns the ConfigMaps and Secrets among the manifests of a file; - is stdin. A manifest without a namespace is of the given one.
func proposalsInFile(stdin io.Reader, name, namespace string) ([]proposal, error) {
	if name == "-" {
		return proposalsIn(stdin, namespace)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	found, err := proposalsIn(file, namespace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// proposalsIn returns the ConfigMaps and Secrets among manifests, which may be in lists. It passes over other objects.
func proposalsIn(r io.Reader, namespace string) (found []proposal, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(io.LimitReader(r, maxManifests)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if found, err = propose(found, document, namespace); err != nil {
			return nil, fmt.Errorf("document %d is not a manifest", n) // what is wrong with it could quote a Secret
		}
	}
}

// propose adds what a document has to found.
func propose(found []proposal, document []byte, namespace string) ([]proposal, error) {
	var of struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(document, &of); err != nil {
		return nil, err
	}
	for _, item := range of.Items {
		var err error
		if found, err = propose(found, item, namespace); err != nil {
			return nil, err
		}
	}
	var p proposal
	switch of.APIVersion + "/" + of.Kind {
	case "v1/ConfigMap":
		var o corev1.ConfigMap
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, err
		}
		o.Namespace = cmp.Or(o.Namespace, namespace)
		p.content, p.Annotations, p.Labels = digest.OfConfigMap(&o), o.Annotations, o.Labels
	case "v1/Secret":
		var o corev1.Secret
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, err
		}
		o.Namespace = cmp.Or(o.Namespace, namespace)
		for key, value := range o.StringData {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[key] = []byte(value)
		}
		p.content, p.Annotations, p.Labels = digest.OfSecret(&o), o.Annotations, o.Labels
	}
	if p.Config = p.content.Config(); p.Config.Name == "" {
		return found, nil
	}
	found = slices.DeleteFunc(found, func(earlier proposal) bool { return earlier.Config == p.Config }) // as kubectl apply leaves it
	return append(found, p), nil
}
