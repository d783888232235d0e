package cluster

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Balancer is a [Line] to API servers. As balancers of API servers do, it asks each
// whether it is ready, and connects nobody to one that is not.
type Balancer struct {
	*Line
	stop  context.CancelFunc
	asked sync.WaitGroup

	mu            sync.Mutex
	unready, lost map[string]bool // by address
}

// readyPeriod is how often a balancer asks whether a server is ready.
const readyPeriod = 250 * time.Millisecond

// Balance opens a balancer to API servers, by the administrator's configurations there.
// Close it when its clients have ended.
func (c *Cluster) Balance(servers ...*rest.Config) (*Balancer, error) {
	ctx, stop := context.WithCancel(c.alive)
	b := &Balancer{stop: stop, unready: map[string]bool{}, lost: map[string]bool{}}
	var all []endpoint
	for _, config := range servers {
		all = append(all, endpoint{"tcp", addressOf(config)})
	}
	var err error
	if b.Line, err = newLine(b.ready, all...); err != nil {
		stop()
		return nil, err
	}
	for i, config := range servers {
		b.asked.Go(func() { b.ask(ctx, config, all[i].address) })
	}
	return b, nil
}

// For returns the configuration of a user, through the balancer.
func (b *Balancer) For(user *rest.Config) *rest.Config {
	config := rest.CopyConfig(user)
	config.Host = "https://" + b.Address()
	return config
}

// addressOf is where an API server of a cluster listens.
func addressOf(config *rest.Config) string { return strings.TrimPrefix(config.Host, "https://") }

// Lose cuts the balancer off from an API server, as when its machine loses power: on
// connections that lead there nothing comes any more, and nobody ends them; new ones go
// to others.
func (b *Balancer) Lose(server *rest.Config) {
	b.mu.Lock()
	b.lost[addressOf(server)] = true
	b.mu.Unlock()
	b.shut(addressOf(server))
}

// Find ends a [Balancer.Lose].
func (b *Balancer) Find(server *rest.Config) {
	b.mu.Lock()
	b.lost[addressOf(server)] = false
	b.mu.Unlock()
	b.open(addressOf(server))
}

// IsOn reports whether all connections that are open lead to an API server, and whether
// there are some.
func (b *Balancer) IsOn(server *rest.Config) bool {
	open := b.Open()
	return len(open) == 1 && open[addressOf(server)] > 0
}

// Close ends the balancer, and all connections.
func (b *Balancer) Close() error {
	b.stop()
	b.asked.Wait()
	return b.Line.Close()
}

// ask asks again and again whether a server is ready.
func (b *Balancer) ask(ctx context.Context, config *rest.Config, server string) {
	for {
		err := healthy(ctx, config, "/readyz")
		if ctx.Err() != nil {
			return
		}
		b.mu.Lock()
		b.unready[server] = err != nil
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(readyPeriod):
		}
	}
}

// ready are the servers that are; all of them where none is.
func (b *Balancer) ready(all []endpoint) []endpoint {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready := slices.DeleteFunc(slices.Clone(all), func(server endpoint) bool { return b.unready[server.address] || b.lost[server.address] })
	if len(ready) == 0 {
		return all
	}
	return ready
}
