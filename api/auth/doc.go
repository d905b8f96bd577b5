// Package auth says who makes a request to the API and what they may do, by asking an API server: Kubernetes' own users, service accounts
// and RBAC rules hold, on resources of the group reroll.dev that exist in rules alone.
//
// It promises:
//   - A token is believed only as long as a TokenReview says so, for the audiences that were given.
//   - What cannot be found out is an error, never a yes.
//   - Answers are cached for ten seconds, so that a removed right ends then. The cache is bounded: by its number for
//     rights, and for tokens by that time and the rate of requests to the API server.
package auth
