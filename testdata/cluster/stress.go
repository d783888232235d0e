package cluster

import "flag"

// stress is set by the flag of that name, which [Run] defines: a program that
// is no test does not get it.
var stress = new(bool)

// Stress reports whether tests run with -stress, as make stress runs them. A
// test for rare events then runs for minutes, and shorter otherwise; it asserts
// the same.
func Stress() bool { return *stress }

func defineFlags() {
	stress = flag.Bool("stress", false, "run tests for rare events for minutes")
}
