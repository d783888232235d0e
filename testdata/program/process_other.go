//go:build !linux

package program

import "syscall"

// attributes keep an interrupt at the terminal from the controller, so that it
// is ended in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
