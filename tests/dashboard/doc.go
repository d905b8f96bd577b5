// Package dashboard tests the dashboard in a real Chromium: against a real reroll on a real API server, and, for what that does not
// show on demand, against the real API over a made-up fleet.
//
// Chromium is the machine's own; it is driven by a small program for Node, browser/drive.mjs, that does what the tests in Go tell it to. What the
// tests have looked at is kept in screenshots/.
package dashboard
