package main

import "syscall"

// attributes keep an interrupt at the terminal from the controller, so that the
// stage is cleared in order, and make the kernel end it when we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
