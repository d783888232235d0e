package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// other is an API server beside the first.
type other struct {
	name   string
	port   *port
	config *rest.Config // the administrator's, there
	etcd   *Line        // by which it reaches etcd
}

func (o *other) release() error { return errors.Join(o.port.release(), o.etcd.Close()) }

// AddAPIServer starts one more API server on the same etcd, with the same arguments, and
// returns when it serves: the administrator's configuration there, and the name of the
// program for [Cluster.Halt] and [Cluster.Lag].
func (c *Cluster) AddAPIServer(ctx context.Context) (config *rest.Config, name string, err error) {
	p, err := reservePort()
	if err != nil {
		return nil, "", err
	}
	etcd, err := newLine(nil, endpoint{"unix", strings.TrimPrefix(c.etcd, "unix://")})
	if err != nil {
		return nil, "", errors.Join(err, p.release())
	}
	o := &other{port: p, etcd: etcd, config: rest.CopyConfig(c.Config)}
	o.config.Host = p.address()
	c.mu.Lock()
	c.others = append(c.others, o)
	o.name = fmt.Sprintf("%s-%d", apiServer, len(c.others)+1)
	c.mu.Unlock()

	started, err := c.startAs(o.name, apiServer, c.argsAt(p, "http://"+etcd.Address())...)
	if err != nil {
		return nil, "", err
	}
	if err := started.ready(ctx, func(ctx context.Context) error { return serving(ctx, o.config) }); err != nil {
		return nil, "", err
	}
	return o.config, o.name, nil
}

// Lag makes all that an added API server hears of etcd late from now on. So are its caches
// then, compared with those of the others.
func (c *Cluster) Lag(program string, by time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.others {
		if o.name == program {
			o.etcd.Delay(by)
			return nil
		}
	}
	return fmt.Errorf("no API server %q was added", program)
}

// configOf is the administrator's configuration at an API server.
func (c *Cluster) configOf(program string) *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.others {
		if o.name == program {
			return o.config
		}
	}
	return c.Config
}
