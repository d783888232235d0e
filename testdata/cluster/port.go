package cluster

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is a TCP port on 127.0.0.1 which is kept for one of our processes: our
// socket is bound to it and does not listen, and the process may bind to it as
// well because both say SO_REUSEPORT. So no other program gets it in between,
// however many control planes start at once.
type port struct {
	number int
	socket int
}

// reservePort reserves a free port. Release it when the process that uses it
// has bound it or ended.
func reservePort() (*port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	unix.CloseOnExec(socket)
	number, err := bind(socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserve a port: %w", err), unix.Close(socket))
	}
	return &port{number: number, socket: socket}, nil
}

// bind binds the socket to a free port which can be shared.
func bind(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, fmt.Errorf("share the port: %w", err)
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, fmt.Errorf("bind to 127.0.0.1: %w", err)
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, fmt.Errorf("ask for the port: %w", err)
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the socket is bound to %T", address)
	}
	return inet.Port, nil
}

func (p *port) String() string { return strconv.Itoa(p.number) }

// address is where to reach the process that listens on the port.
func (p *port) address() string { return "https://127.0.0.1:" + p.String() }

func (p *port) release() error {
	if err := unix.Close(p.socket); err != nil {
		return fmt.Errorf("release port %d: %w", p.number, err)
	}
	return nil
}
