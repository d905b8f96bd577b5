package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Tools are what the tools other than Stakater Reloader were told by their own flags.
type Tools struct {
	// Collaborne are the annotations that are read where the tool's own are absent, and the ConfigMap with its state.
	Collaborne dialect.CollaborneOptions
	// SAPVersions has SAP's dialect count every write of a config.
	SAPVersions bool
}

// The flags that name annotations have the names that they have there.
const (
	alternativeConfigMapFlag = "alternative-configmap-annotation"
	alternativeSecretFlag    = "alternative-secret-annotation"
	collaborneStateFlag      = "collaborne-state"
)

// Bind declares the flags, but for that of BindState.
func (t *Tools) Bind(f *pflag.FlagSet) {
	f.StringVar(&t.Collaborne.ConfigMap, alternativeConfigMapFlag, "", "annotation that kubernetes-reloader of Collaborne was told to read where its own for ConfigMaps is absent")
	f.StringVar(&t.Collaborne.Secret, alternativeSecretFlag, "", "the same for Secrets")
	f.BoolVar(&t.SAPVersions, "sap-versions", false, "mark workloads of SAP's pod-reloader as it does, by versions of configs: every write of one rolls them, also of a label")
}

// BindState declares the flag about what a tool remembers, which is of use to who judges workloads alone.
func (t *Tools) BindState(f *pflag.FlagSet) {
	f.StringVar(&t.Collaborne.State, collaborneStateFlag, "", "ConfigMap in which that tool kept its state (its --configmap): read once, so that what changed while nobody looked is rolled")
}

// Check finds what cannot be.
func (t *Tools) Check() error {
	var errs []error
	for flag, key := range map[string]string{alternativeConfigMapFlag: t.Collaborne.ConfigMap, alternativeSecretFlag: t.Collaborne.Secret} {
		if key == "" {
			continue
		}
		if faults := validation.IsQualifiedName(strings.ToLower(key)); len(faults) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %.80q cannot be the key of an annotation: %s", flag, key, faults[0]))
		}
	}
	if name := t.Collaborne.State; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, fmt.Errorf("--%s: %.80q is not a ConfigMap's name", collaborneStateFlag, name))
	}
	return errors.Join(errs...)
}
