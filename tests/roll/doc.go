// Package roll tests how workloads are rolled whose pod template cannot simply be patched: on a real API server, with real
// controllers, and with a process that ends after any of its requests.
package roll
