package kube

import "syscall"

// processAttributes puts a program into a process group of its own, where a terminal's Ctrl-C does not reach it, and has the
// kernel kill it when the thread that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
