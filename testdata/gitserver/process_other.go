//go:build !linux

package gitserver

import "syscall"

// attributes keep an interrupt at the terminal from the server, so that it
// is ended in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
