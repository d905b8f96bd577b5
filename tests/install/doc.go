// Package install follows the quick start against a real API server.
package install
