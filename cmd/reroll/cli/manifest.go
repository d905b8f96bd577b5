package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
)

const maxManifests = 64 << 20

type proposal struct {
	dialect.ConfigMeta
	content digest.Content
}

// proposalsIn returns the ConfigMaps and Secrets among the manifests of a file, which may be in lists; - is stdin. A manifest without a namespace is of the
// given one. Other objects do not count.
func proposalsIn(stdin io.Reader, name, namespace string) (found []proposal, err error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was only read
		stdin = file
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(io.LimitReader(stdin, maxManifests)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err == nil {
			found, err = propose(found, document, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d is not a manifest", name, n) // what is wrong with it could quote a Secret
		}
	}
}

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
	var meta metav1.ObjectMeta
	var err error
	switch of.APIVersion + "/" + of.Kind {
	case "v1/ConfigMap":
		var o corev1.ConfigMap
		err = yaml.Unmarshal(document, &o)
		o.Namespace = cmp.Or(o.Namespace, namespace)
		meta, p.content = o.ObjectMeta, digest.OfConfigMap(&o)
	case "v1/Secret":
		var o corev1.Secret
		err = yaml.Unmarshal(document, &o)
		if o.Data == nil {
			o.Data = map[string][]byte{}
		}
		for key, value := range o.StringData {
			o.Data[key] = []byte(value)
		}
		o.Namespace = cmp.Or(o.Namespace, namespace)
		meta, p.content = o.ObjectMeta, digest.OfSecret(&o)
	}
	if meta.Name == "" || err != nil {
		return found, err
	}
	p.Config, p.Annotations, p.Labels = p.content.Config(), meta.Annotations, meta.Labels
	found = slices.DeleteFunc(found, func(earlier proposal) bool { return earlier.Config == p.Config }) // as kubectl apply leaves it
	return append(found, p), nil
}
