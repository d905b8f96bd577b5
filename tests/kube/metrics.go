package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Metric returns the sum of the API server's samples of a metric that have all the labels, each given as `name="value"`; 0 if there
// are none.
func (c *Cluster) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := c.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return SumSamples(string(text), name, labels)
}

// SumSamples adds up the samples of a metric that have all labels in text, which is in the Prometheus text
// format without times.
func SumSamples(text, name string, labels []string) (float64, error) {
	sum := 0.0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, '}')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("read a sample of %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}
