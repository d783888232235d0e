package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// scrapes is how often the metrics are read: one scrape uses less processor time than the
// system counts in.
const scrapes = 100

// scraped is what it costs to have the metrics of the program read.
type scraped struct {
	cpu   float64 // seconds of its processor time for each scrape
	bytes int     // of the answer, compressed
}

// scrape reads the metrics of the program, which works for the pools and nodes of the world
// and is at rest, as Prometheus does: over one connection, compressed.
func (w *world) scrape(ctx context.Context) (s scraped, err error) {
	status("the metrics are read %d times", scrapes)
	before, err := w.runs.use()
	if err != nil {
		return s, err
	}
	for range scrapes {
		if s.bytes, err = readMetrics(ctx, w.launch.metrics); err != nil {
			return s, fmt.Errorf("read the metrics: %w", err)
		}
	}
	after, err := w.runs.use()
	s.cpu = (after.cpu - before.cpu) / scrapes
	return s, err
}

// readMetrics returns how many bytes the metrics at an address are.
func readMetrics(ctx context.Context, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
		return 0, fmt.Errorf("the answer is %s: %.100s", answer.Status, strings.ToValidUTF8(string(text), "?"))
	}
	return len(text), nil
}

// scrapeTarget is how many milliseconds of processor time a scrape may use.
const scrapeTarget = 50

func (s scraped) figures(row, of string) []Figure {
	return []Figure{
		{Row: row, Name: "processor time of a scrape, " + of, Value: 1000 * s.cpu, Unit: "ms", Target: &Target{AtMost: scrapeTarget}},
		{Row: row, Name: "size of a scrape, compressed, " + of, Value: float64(s.bytes) / 1024, Unit: "KiB"},
	}
}

// freeAddress is one of this machine at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
