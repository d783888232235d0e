package leaks

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// openFiles counts those of this process, by their targets. Where the system
// does not report the targets they are numbers, and where it reports nothing
// there are none.
func openFiles() map[string]int {
	counts := map[string]int{}
	for _, folder := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		sockets := connections()
		for _, entry := range entries {
			target, err := os.Readlink(filepath.Join(folder, entry.Name()))
			switch {
			case err != nil && folder == "/proc/self/fd":
				continue // it was what the folder was read by
			case err != nil:
				target = "file descriptor " + entry.Name()
			}
			if connection, known := sockets[target]; known {
				target = connection
			}
			counts[target]++
		}
		return counts
	}
	return counts
}

// connections returns the TCP connections of this machine, by their name among
// the open files of a process.
func connections() map[string]string {
	named := map[string]string{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) > 9 && fields[0] != "sl" {
				named["socket:["+fields[9]+"]"] = fmt.Sprintf("connection %s to %s, state %s", endpoint(fields[1]), endpoint(fields[2]), fields[3])
			}
		}
	}
	return named
}

// endpoint reads an address of the kernel's table, 0100007F:1F90.
func endpoint(text string) string {
	address, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(address)
	number, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil {
		return text
	}
	for word := range slices.Chunk(bytes, 4) { // each in the order of this machine
		slices.Reverse(word)
	}
	return net.JoinHostPort(net.IP(bytes).String(), strconv.FormatUint(number, 10))
}

// children counts the processes that this one has started and not waited for,
// including dead ones. Where the system does not report them there are none.
func children() map[string]int {
	counts := map[string]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return counts // the pattern is a good one
	}
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// 4711 (name) S parent: the name may have brackets in it.
		text := string(data)
		open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
		if open < 0 || end < open {
			continue
		}
		fields := strings.Fields(text[end+1:])
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			state := ""
			if fields[0] == "Z" {
				state = ", dead and not waited for"
			}
			counts[fmt.Sprintf("process %s %s%s", strings.TrimSpace(text[:open]), text[open+1:end], state)]++
		}
	}
	return counts
}
