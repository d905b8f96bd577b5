// Package capabilities makes the table of README.md of what each tool can do, and checks that what is said of Reroll has a proof that exists.
package capabilities
