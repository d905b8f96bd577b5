// Package hostile floods the real `reroll ingest` and looks at the memory of its process from outside.
//
// Each case has a process of its own, and the bound that is asserted follows from the limits that the process runs with, the
// defaults of ingest/webhook/limits.go.
package hostile
