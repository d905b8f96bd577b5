// Package auth tests who is let into the REST API and what they may do there, with a real API server: its tokens, its RBAC, certificates,
// and a dispatcher that carries out what it is told.
package auth
