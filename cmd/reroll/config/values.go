package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/dispatcher/notify"
)

// The parts of the process.
const (
	Ingests    = "ingest"
	Dispatches = "dispatch"
	Answers    = "api"
	Admits     = "admission"
)

// Values of source.
const (
	SourceAuto  = "auto"
	SourceAudit = "audit"
	SourceWatch = "watch"
)

// Values of api.auth.
const (
	AuthNone      = "none"
	AuthToken     = "token"
	AuthAnonymous = "anonymous"
)

// texts is a value that is made of one text or several.
type texts interface{ Parse(texts []string) error }

// Selector chooses objects by their labels. The zero value chooses all.
type Selector struct{ chosen labels.Selector }

// Labels returns the selector; it is never nil.
func (s Selector) Labels() labels.Selector {
	if s.chosen == nil {
		return labels.Everything()
	}
	return s.chosen
}

// Parse reads requirements, which all hold.
func (s *Selector) Parse(texts []string) (err error) {
	s.chosen, err = labels.Parse(strings.Join(texts, ","))
	return err
}

// Rights say what groups of users see at a hub.
type Rights []api.Right

// Parse reads one right in each text.
func (r *Rights) Parse(texts []string) error {
	*r = nil
	for _, text := range texts {
		right, err := api.ParseRight(text)
		if err != nil {
			return err
		}
		*r = append(*r, right)
	}
	return nil
}

// Size is a number of bytes; 0 is the default.
type Size int64

// Parse reads one number.
func (s *Size) Parse(texts []string) error {
	text := strings.Join(texts, ",")
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Value() <= 0 {
		return fmt.Errorf("%.40q is not a number of bytes such as 4Gi", text)
	}
	*s = Size(size.Value())
	return nil
}

// checks are what values are: by the tag is.
var checks = map[string]func(text string) error{
	"label": func(text string) error {
		if len(validation.IsDNS1123Label(text)) > 0 {
			return fmt.Errorf("%.80q is not a DNS label: lower-case letters, digits and dashes", text)
		}
		return nil
	},
	"url":   isURL(notify.Schemes),
	"proxy": isURL(notify.ProxySchemes),
}

// isURL returns a check. Its error does not repeat the text: the URL of a webhook often is its password.
func isURL(schemes []string) func(string) error {
	return func(text string) error {
		if u, err := url.Parse(text); err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("the value is not a URL that begins with %s://", strings.Join(schemes, ":// or "))
		}
		return nil
	}
}

// AnnotationKeys are the keys of Stakater Reloader's annotations that have another one in this installation, by their names in annotationNames.
type AnnotationKeys map[string]string

// Renamed returns them by the tool's own keys.
func (k AnnotationKeys) Renamed() map[string]string {
	renamed := map[string]string{}
	for name, key := range k {
		renamed[annotationNames[name]] = key
	}
	return renamed
}

// annotationNames are the names that annotations have in settings, with the tool's own keys.
var annotationNames = map[string]string{
	"auto":                       "reloader.stakater.com/auto",
	"ignore":                     "reloader.stakater.com/ignore",
	"autoSearch":                 "reloader.stakater.com/search",
	"searchMatch":                "reloader.stakater.com/match",
	"configmap":                  "configmap.reloader.stakater.com/reload",
	"configmapAuto":              "configmap.reloader.stakater.com/auto",
	"configmapExclude":           "configmaps.exclude.reloader.stakater.com/reload",
	"secret":                     "secret.reloader.stakater.com/reload",
	"secretAuto":                 "secret.reloader.stakater.com/auto",
	"secretExclude":              "secrets.exclude.reloader.stakater.com/reload",
	"secretproviderclass":        "secretproviderclass.reloader.stakater.com/reload",
	"secretproviderclassAuto":    "secretproviderclass.reloader.stakater.com/auto",
	"secretproviderclassExclude": "secretproviderclasses.exclude.reloader.stakater.com/reload",
	"pauseDeployment":            "deployment.reloader.stakater.com/pause-period",
	"pauseDeploymentTime":        "deployment.reloader.stakater.com/paused-at",
	"rolloutStrategy":            "reloader.stakater.com/rollout-strategy",
}

func sortedNames() []string { return slices.Sorted(maps.Keys(annotationNames)) }

// check refuses names that no annotation has here, and keys that none can have. Capitals in the prefix are allowed, as by the API server.
func (k AnnotationKeys) check() error {
	var errs []error
	for name, key := range k {
		if _, ok := annotationNames[name]; !ok {
			errs = append(errs, fmt.Errorf("unknown key %.80q", name))
		}
		if faults := validation.IsQualifiedName(strings.ToLower(key)); len(faults) > 0 {
			errs = append(errs, fmt.Errorf("%.80q cannot be the key of an annotation: %s", key, faults[0]))
		}
	}
	return errors.Join(errs...)
}
