// Package observability tests what people who run Reroll look at: alerts, runbooks and dashboards. Every
// metric and label value in their queries is one that real processes expose.
package observability
