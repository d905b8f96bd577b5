// Package cli tests the command line as its users have it: the real binary, next to a real API server and a real reroll serve.
package cli
