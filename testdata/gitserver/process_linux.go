package gitserver

import "syscall"

// attributes keep an interrupt at the terminal from the server, so that it
// is ended in order, and make the kernel end it when we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
