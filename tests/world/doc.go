// Package world lets scenarios run on a line: it is a scenario.World of namespaces of its own on a real API server, whose changes a
// real reroll process hears of.
//
// What Reroll has done is read from the API server. When it has done everything is known from sentinels: workloads that are created
// and reloaded after whatever is waited for.
package world
