package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used since its start.
type usage struct {
	cpu  time.Duration
	peak float64 // MiB of memory at the most at any time
}

// ticksPerSecond is the unit of processor time in /proc, on every Linux that Go
// runs on.
const ticksPerSecond = 100

// use tells what the program has used so far.
func (r *running) use() (usage, error) { return processUsage(r.process.PID()) }

// processUsage reads /proc. What the system tells of an ended process would be
// known elsewhere too, but a peak in it may be that of the process that started it.
func processUsage(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil && runtime.GOOS != "linux" {
		return usage{}, errors.New("what a process uses is read from /proc, which this system does not have")
	}
	if err != nil {
		return usage{}, fmt.Errorf("read what the program uses: %w", err)
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read what the program uses: %w", err)
	}
	return parseUsage(stat, state)
}

// parseUsage reads /proc/PID/stat and /proc/PID/status.
func parseUsage(stat, state []byte) (usage, error) {
	// The second field is the name in parentheses, which may hold anything.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const user, system = 14 - 3, 15 - 3 // counted from 1, and the third comes first here
	if end < 0 || len(fields) <= system {
		return usage{}, fmt.Errorf("/proc/PID/stat is %q", stat)
	}
	var ticks int
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			return usage{}, fmt.Errorf("/proc/PID/stat: %w", err)
		}
		ticks += n
	}
	u := usage{cpu: time.Duration(ticks) * time.Second / ticksPerSecond}
	for line := range strings.Lines(string(state)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			u.peak = float64(kib) / 1024
			return u, err
		}
	}
	return u, errors.New("/proc/PID/status has no VmHWM")
}
