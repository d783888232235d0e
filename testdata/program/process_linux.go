package program

import "syscall"

// attributes keep an interrupt at the terminal from the controller, so that it
// is ended in order, and make the kernel end it when we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
