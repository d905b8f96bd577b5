// Package e2e tests the whole line from outside: a real API server posts real audit events to a real reroll process, and what
// rolled is read from the API server.
package e2e
