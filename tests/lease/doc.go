// Package lease tests, on a real API server and with processes that are killed and stopped, that one of several candidates leads and
// never two, and what else the adapter to Kubernetes promises about its access.
package lease
