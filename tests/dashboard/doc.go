// Package dashboard tests the dashboard in a real Chromium: against a real reroll on a real API server, and, for what that does not
// show on demand, against the real API over a made-up fleet.
//
// Package browser drives the Chromium. What the tests have looked at is kept in screenshots/.
package dashboard
