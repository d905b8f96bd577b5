// Package install follows the quick start, and sets up audit events for every kind of cluster: the commands are run against a real API server that has
// the flags and files which they have made.
package install
