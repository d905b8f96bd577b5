// Package thousand runs a hub for a thousand clusters: three NATS servers and the API, each a process, and members that forward made records and
// follow configs of each other. It cuts them off, kills forwarders, servers and the API, and counts what is missing and what is doubled.
package thousand
