// Package install follows the quick start and the guides of docs/install: every command in them for a shell is run, against a real
// API server that has the flags and files which those commands have made.
package install
