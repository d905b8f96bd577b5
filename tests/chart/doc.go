// Package chart tests the Helm chart as its users meet it: through the real helm, the API server's own types and the real binary's flags.
package chart

//go:generate go -C ../tools/pinned tool helm-docs --chart-search-root=../../../helm --sort-values-order=file --log-level=warning
