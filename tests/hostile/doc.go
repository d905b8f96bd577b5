// Package hostile floods the real `reroll ingest` and looks at the memory of its process from outside.
//
// Each case has a process of its own. The bound that is asserted is not computed from the limits
// of the product.
package hostile
