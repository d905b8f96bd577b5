// Package crds pins the modules of operators in which the definitions of their kinds are, as files. Nothing is built of them: the imports
// only keep them in go.mod, with their sums.
package crds

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
)
