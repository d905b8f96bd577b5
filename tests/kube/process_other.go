//go:build !linux

package kube

import "syscall"

// processAttributes puts a program into a process group of its own, where a terminal's Ctrl-C does not reach it. Only Linux can
// also tie its life to ours.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
