// Package world lets scenarios run on a line: it is a scenario.World of namespaces of its own on a real API server, whose changes a
// real reroll process hears of.
//
// What Reroll has done is read from the API server. When it has done everything, it says itself: by the barrier of the operations port.
package world
