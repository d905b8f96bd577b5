// Package capabilities makes the tables of what each tool can do, in README.md, and checks
// that what they say of Reroll has a proof that exists.
package capabilities
