// Package tenancy tries, as a user who may do everything in one namespace of a real API server and nothing elsewhere, what docs/security.md says that
// such a user cannot do.
package tenancy
