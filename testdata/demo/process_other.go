//go:build !linux

package main

import "syscall"

// attributes keep an interrupt at the terminal from the controller, so that the
// stage is cleared in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
