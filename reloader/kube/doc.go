// Package kube is the adapter to Kubernetes: the only part of the product that talks to an API server.
//
// Reads of configs are live, never from a cache, and what they return is stripped at once: of annotations only those that were
// asked for, of content only an opaque value that cannot be printed. Workloads are watched, and stripped before they are cached.
package kube
