package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// RequestKind has labels of the API server's metric apiserver_request_total. It
// has no users; where they matter, use [Cluster.Audit].
type RequestKind struct {
	Verb                         string // GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION
	Group, Resource, Subresource string
	DryRun                       bool
	Code                         string // HTTP status
}

// Counts has the number of requests of each kind.
type Counts map[RequestKind]int

// Since returns what was counted after earlier was taken, kinds without
// requests left out.
func (c Counts) Since(earlier Counts) Counts {
	diff := Counts{}
	for kind, n := range c {
		if n -= earlier[kind]; n != 0 {
			diff[kind] = n
		}
	}
	return diff
}

// Writes returns the counts of what may have changed something, leases left
// out: nodes and leader elections renew them all the time.
func (c Counts) Writes() Counts {
	writes := maps.Clone(c)
	maps.DeleteFunc(writes, func(kind RequestKind, _ int) bool {
		write := slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}, kind.Verb)
		return !write || kind.DryRun || kind.Resource == "leases" ||
			kind.Subresource == "token" ||
			kind.Group == "authorization.k8s.io" || kind.Group == "authentication.k8s.io"
	})
	return writes
}

// RequestCounts returns how many requests the API server has answered.
func (c *Cluster) RequestCounts(ctx context.Context) (Counts, error) {
	client, err := rest.UnversionedRESTClientFor(withCodec(rest.CopyConfig(c.Config)))
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	metrics, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	return parseCounts(metrics)
}

// label matches one label of a metric. The values here need no escaping.
var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

func parseCounts(metrics []byte) (Counts, error) {
	counts := Counts{}
	scanner := bufio.NewScanner(bytes.NewReader(metrics))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		rest, ok := strings.CutPrefix(scanner.Text(), "apiserver_request_total{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(rest, "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read the metric %q: %w", scanner.Text(), err)
		}
		of := map[string]string{}
		for _, match := range label.FindAllStringSubmatch(labels, -1) {
			of[match[1]] = match[2]
		}
		counts[RequestKind{
			Verb: of["verb"], Group: of["group"], Resource: of["resource"], Subresource: of["subresource"],
			DryRun: of["dry_run"] != "", Code: of["code"],
		}] += int(n)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	return counts, nil
}
