package kube

import (
	"log/slog"

	"k8s.io/klog/v2"
)

// LogTo has what the Kubernetes libraries say, in the whole process and from now on, go to logger. Without it they write lines of a format
// of their own to standard error.
func LogTo(logger *slog.Logger) { klog.SetSlogLogger(logger) }
