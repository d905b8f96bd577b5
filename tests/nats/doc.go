// Package nats holds the configurations of docs/nats against what the program prints and what a hub needs.
package nats
