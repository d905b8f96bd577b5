// Package adoption reports what other reloaders have left on workloads, and what Reroll does with them when it is installed. The forecast is the
// dispatcher's own judgement of first sight, for a ledger that is born now. Functions take values and return values.
package adoption
