package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Two replicas whose clocks are ten minutes apart: the one that leads is ahead. Nodes join
// as if the clocks were right. Then it is killed each time that nodes join, and the other
// takes over when the lease has run out, no earlier and no later. The whole process goes by
// the other clock: the program is built with a package time of its own.
func TestAvailabilityOfClocksApart(t *testing.T) {
	cluster.Long(t)
	if !*figures {
		t.Skip("SKIPPED: the program with a clock of its own takes minutes to build; make availability builds it, and TestClocksApart has the loops alone")
	}
	program := buildWithClock(t)
	a, extent := newAvailability(t, cluster.Options{}), availabilityExtent()
	replica := func(user string, ahead time.Duration) *replica {
		r := a.replica(user, a.c.Config)
		r.program, r.environment = program, []string{clockVariable + "=" + ahead.String()}
		return r
	}
	a.lead(replica("ahead", 5*time.Minute), replica("behind", -5*time.Minute))
	a.timesAreAhead()
	show(t, clocksApart, a.oneByOne(extent.nodes))
	var waits []time.Duration
	kill := a.endLeader((*process).kill)
	for range extent.rounds {
		waits = append(waits, kill(extent.nodes)...)
	}
	show(t, clocksTakeOver, waits)
	t.Log(a.eachInOneWrite(a.nodes))
	a.check()
}

// timesAreAhead holds that the clock of the leader is what it is meant to be, by the lease.
func (a *availability) timesAreAhead() {
	a.t.Helper()
	api, err := kubernetes.NewForConfig(a.c.Config)
	a.do(err)
	lease, err := api.CoordinationV1().Leases("default").Get(a.t.Context(), v1.LeaseName, metav1.GetOptions{})
	a.do(err)
	if by := time.Until(lease.Spec.RenewTime.Time); by < 4*time.Minute || by > 6*time.Minute {
		a.t.Fatalf("the lease was renewed %s ahead, want 5m", by)
	}
}

// clockVariable is by how much the clock of such a program is ahead.
const clockVariable = "NODEPOOLS_TEST_CLOCK_AHEAD"

// buildWithClock builds the program with a package time whose wall clock is ahead by what a
// variable says. The monotonic clock, by which durations are measured, is as it was.
func buildWithClock(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	dir := t.TempDir()
	replaced := map[string]string{}
	replace := func(name string, change func(string) string) {
		code, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		changed := change(string(code))
		if changed == string(code) {
			t.Fatalf("%s of this version of Go is not known", name)
		}
		replaced[filepath.Join(folder, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const now = "	sec, nsec, mono := runtimeNow()\n"
	replace("time.go", func(code string) string { return strings.Replace(code, now, now+"	sec += ahead\n", 1) })
	replace("sys_unix.go", func(code string) string {
		return code + `
// ahead is by how many seconds the wall clock is.
var ahead = func() int64 {
	text, _ := syscall.Getenv("` + clockVariable + `")
	by, _ := ParseDuration(text)
	return int64(by / Second)
}()
`
	})
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "nodepools")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program with a clock of its own: %v\n%s", err, out)
	}
	return program
}
