// Package tests holds what is true of the whole repository.
package tests
