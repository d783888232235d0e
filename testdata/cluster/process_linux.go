package cluster

import "syscall"

// attributes keep an interrupt at the terminal from the child, so that Stop can
// end things in order, and make the kernel kill the child when we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
