package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// usage is what a process has used since its start. It is read from /proc: what a
// system reports when a process has ended may have the peak of the process that
// started it. Where there is no /proc, both are not a number, as are the figures
// that come of them, and those are left out.
type usage struct {
	cpu  float64 // seconds of processor time
	peak float64 // MiB of memory at the most at any time
}

// ticksPerSecond is the unit of processor time in /proc, on every Linux that Go
// runs on.
const ticksPerSecond = 100

// use returns what the program has used so far.
func (r *running) use() (usage, error) { return processUsage(r.process.PID()) }

func processUsage(pid int) (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{math.NaN(), math.NaN()}, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read what a process uses: %w", err)
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read what a process uses: %w", err)
	}
	return parseUsage(stat, state)
}

// processors is the processor time, in seconds, of this process and of those that it
// has started and that run. Differences of it show what some work costs, whatever
// else the machine is busy with.
type processors struct {
	server  float64 // API server and etcd
	clients float64 // this process, and the program while it runs
}

func (p processors) all() float64 { return p.server + p.clients }

func (p processors) since(earlier processors) processors {
	return processors{p.server - earlier.server, p.clients - earlier.clients}
}

// everybody returns the processor time so far.
func everybody() (sum processors, err error) {
	if runtime.GOOS != "linux" {
		return processors{math.NaN(), math.NaN()}, nil
	}
	own := os.Getpid()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return sum, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		s, err := parseStat(text)
		if err != nil {
			return sum, err
		}
		sum.add(own, s)
	}
	return sum, nil
}

func (p *processors) add(own int, s stat) {
	switch {
	case s.pid == own:
		p.clients += s.cpu
	case s.parent != own:
	case s.name == "kube-apiserver" || s.name == "etcd":
		p.server += s.cpu
	default:
		p.clients += s.cpu
	}
}

// stat is what /proc/PID/stat says.
type stat struct {
	pid, parent int
	name        string  // of the program, its first 15 letters
	cpu         float64 // seconds
}

func parseStat(text []byte) (s stat, err error) {
	// The second field is the name in parentheses, which may hold anything.
	id, rest, found := bytes.Cut(text, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	fields := strings.Fields(string(rest[end+1:]))
	const parent, user, system = 4 - 3, 14 - 3, 15 - 3 // counted from 1, and the third comes first here
	if !found || end < 0 || len(fields) <= system {
		return s, fmt.Errorf("/proc/PID/stat is %q", text)
	}
	var numbers [4]int
	for i, field := range []string{string(id), fields[parent], fields[user], fields[system]} {
		if numbers[i], err = strconv.Atoi(field); err != nil {
			return s, fmt.Errorf("/proc/PID/stat: %w", err)
		}
	}
	return stat{numbers[0], numbers[1], string(rest[:end]), float64(numbers[2]+numbers[3]) / ticksPerSecond}, nil
}

// parseUsage reads /proc/PID/stat and /proc/PID/status.
func parseUsage(text, state []byte) (usage, error) {
	s, err := parseStat(text)
	if err != nil {
		return usage{}, err
	}
	peak := kibibytes(state, "VmHWM")
	if peak == 0 {
		return usage{}, errors.New("/proc/PID/status has no VmHWM")
	}
	return usage{s.cpu, float64(peak) / 1024}, nil
}
