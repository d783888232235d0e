//go:build !linux

package cluster

import "syscall"

// attributes keep an interrupt at the terminal from the child, so that Stop can
// end things in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
