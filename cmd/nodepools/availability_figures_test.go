package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/docs"
)

var figures = flag.Bool("figures", false, "measure how long nodes that join wait, and write it into docs/operate.md")

// Situations in which nodes join, as the page names them.
const (
	nothingFails        = "nothing fails, and one node joins after the other"
	leaderStopped       = "the leader is stopped in order just before, as by an update"
	leaderKilled        = "the leader is killed just before"
	leaderCutOff        = "the leader is cut off from the API server just before"
	clocksApart         = "the leader's clock is 5 minutes ahead, the other's 5 minutes behind"
	clocksTakeOver      = "that leader is killed just before, and the other takes over"
	byConnection        = "two API servers in turn for each connection, all connections closed every 1.5 s"
	byRequest           = "two API servers in turn for each request, all watches ended every 1.5 s, what one of them hears of etcd 0.05 s late"
	serverLost          = "the API server that both replicas are connected to is lost just before, of two behind a balancer"
	onlyServerRestarted = "the only API server was started just before, ten times in a row, gone for 3 and for 15 s in turn"
	serversRestarted    = "two API servers restarted, one after the other"
	serversUpgraded     = "two API servers upgraded from Kubernetes v1.36 to v1.37, one after the other"
)

// situations are in the order of the page.
var situations = []string{
	nothingFails, leaderStopped, leaderKilled, leaderCutOff, clocksApart, clocksTakeOver,
	byConnection, byRequest, serverLost, onlyServerRestarted, serversRestarted, serversUpgraded,
}

// The table of the page is between these lines.
const (
	figuresPage  = "docs/operate.md"
	figuresBegin = "<!-- figures: made by make availability, not by hand -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
	figuresHead  = "| situation | nodes | median | longest |\n|---|--:|--:|--:|\n"
)

// show logs how long nodes have waited in a situation. With -figures, it becomes the row of
// the situation on the page.
func show(t *testing.T, situation string, waits []time.Duration) {
	t.Helper()
	slices.Sort(waits)
	row := fmt.Sprintf("| %s | %d | %s | %s |\n", situation, len(waits), inWords(waits[len(waits)/2]), inWords(waits[len(waits)-1]))
	t.Log(row)
	if !*figures {
		return
	}
	page := docs.Read(t, figuresPage).Text
	before, rest, begins := strings.Cut(page, figuresBegin)
	shown, after, ends := strings.Cut(rest, figuresEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for figures", figuresPage)
	}
	rows := figuresHead
	for _, each := range situations {
		if each == situation {
			rows += row
		} else {
			rows += rowOf(shown, each)
		}
	}
	path := filepath.Join(docs.Root(t), filepath.FromSlash(figuresPage))
	if err := os.WriteFile(path, []byte(before+figuresBegin+rows+figuresEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rowOf is the row of a situation; empty where there is none.
func rowOf(table, situation string) string {
	for row := range strings.Lines(table) {
		if strings.HasPrefix(row, "| "+situation+" |") {
			return row
		}
	}
	return ""
}

// inWords rounds to what a reader can use.
func inWords(wait time.Duration) string {
	switch {
	case wait < time.Second:
		return fmt.Sprintf("%d ms", wait.Round(time.Millisecond).Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", wait.Seconds())
	}
}

// The page has each situation that is tested, and a figure for it.
func TestAvailabilityFiguresAreShown(t *testing.T) {
	shown := docs.Cut(t, figuresBegin, figuresEnd)
	want := figuresHead
	for _, situation := range situations {
		row := rowOf(shown, situation)
		if strings.Count(row, "|") != 5 || strings.Contains(row, "| 0 |") {
			t.Errorf("%s has no figures of nodes that join where %s: make availability makes them", figuresPage, situation)
		}
		want += row
	}
	if shown != want {
		t.Errorf("the figures of %s are\n%swant\n%s", figuresPage, shown, want)
	}
}
