package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// other is an API server beside the first.
type other struct {
	name   string
	port   *port
	config *rest.Config // the administrator's, there
	etcd   *Line        // nil where it reads etcd as the first does
}

func (o *other) release() error {
	if o.etcd == nil {
		return o.port.release()
	}
	return errors.Join(o.port.release(), o.etcd.Close())
}

// AddAPIServer starts one more API server on the same etcd, with the same arguments, and
// returns when it serves. It is the administrator's configuration there that is
// returned, and the name of the program for [Cluster.Halt]. All that it hears of etcd is
// late by lag: so are its caches, compared with those of the first.
func (c *Cluster) AddAPIServer(ctx context.Context, lag time.Duration) (config *rest.Config, name string, err error) {
	p, err := reservePort()
	if err != nil {
		return nil, "", err
	}
	o := &other{port: p}
	etcd := c.etcd
	if lag > 0 {
		if o.etcd, err = newLine(nil, endpoint{"unix", strings.TrimPrefix(c.etcd, "unix://")}); err != nil {
			return nil, "", errors.Join(err, p.release())
		}
		etcd = "http://" + o.etcd.Address()
	}
	o.config = rest.CopyConfig(c.Config)
	o.config.Host = p.address()
	c.mu.Lock()
	c.others = append(c.others, o)
	o.name = fmt.Sprintf("%s-%d", apiServer, len(c.others)+1)
	c.mu.Unlock()

	// A folder of its own for the certificates that it makes itself.
	args := append(c.argsAt(p, etcd), "--cert-dir="+filepath.Join(c.dir, o.name))
	started, err := c.startAs(o.name, apiServer, args...)
	if err != nil {
		return nil, "", err
	}
	if err := started.ready(ctx, func(ctx context.Context) error { return serving(ctx, o.config) }); err != nil {
		return nil, "", err
	}
	if o.etcd != nil {
		o.etcd.Delay(lag) // from here on: its start takes hundreds of requests
	}
	return o.config, o.name, nil
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
