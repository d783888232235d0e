package git

import (
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// agent is what servers are told of this client.
var agent = capability.DefaultAgent()

// interest says which refs of a server matter.
type interest struct {
	// prefixes are what their names begin with.
	prefixes []string
	// keep reports whether one of them matters, by its name and what it stands at.
	keep func(name string, hash plumbing.Hash) bool
}

// ofRef is the interest in the refs that a target names, and in those at a commit; the
// zero hash is none.
func (t *target) ofRef(commit plumbing.Hash) interest {
	return interest{prefixes: t.Ref.prefixes(), keep: func(name string, hash plumbing.Hash) bool {
		return t.Ref.Commit == "" && t.Ref.wants(name) || hash == commit && !hash.IsZero()
	}}
}

// ofHistory is the interest in all that a history can begin at.
var ofHistory = interest{prefixes: []string{"refs/heads/", "refs/tags/"}, keep: func(name string, _ plumbing.Hash) bool {
	return plumbing.ReferenceName(name).IsBranch() || plumbing.ReferenceName(name).IsTag()
}}

// conversation is one talk with a server, in the version of the protocol that it speaks:
// 2 where it has that, and what it has otherwise. It is for one listing of refs and then,
// perhaps, one pack.
type conversation struct {
	*target
	server
	ctx context.Context
	// about are the refs that matter.
	about interest
	// greeting is what the server has begun with; of version 2 it has no refs.
	greeting *advertisement
	// resumed is true where that is what it has begun with an earlier time.
	resumed bool
	// refs are those that matter, once they are known.
	refs *advertisement
}

// converse begins a conversation.
func (t *target) converse(ctx context.Context, about interest) (*conversation, error) {
	c := &conversation{target: t, ctx: ctx, about: about}
	return c, c.begin()
}

// resume begins a conversation with the request for the refs, where the server has spoken
// version 2 of the protocol over http the last time: it keeps nothing between two requests,
// and need not be greeted again.
func (t *target) resume(ctx context.Context, about interest) (*conversation, error) {
	c := &conversation{target: t, ctx: ctx, about: about}
	known := t.cache().server()
	if known == nil || !t.isAt(known.base) {
		return c, c.begin()
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	if web, ok := c.server.(*httpServer); ok {
		web.base = known.base
	}
	c.greeting, c.resumed = known.greeting, true
	return c, nil
}

func (c *conversation) connect() error {
	s, err := c.dial(c.ctx)
	if err == nil {
		c.server = s
	}
	return err
}

// begin connects, and has the server say what it is.
func (c *conversation) begin() error {
	if err := c.connect(); err != nil {
		return err
	}
	greeting, err := c.greet(c.server, c.about.keep)
	if err != nil {
		c.close()
		return err
	}
	if c.greeting, c.refs = greeting, nil; greeting.version < 2 {
		c.refs = greeting
	}
	return nil
}

// renew makes room for another request, after one that has led to nothing. What a server
// has said an earlier time may no longer hold then.
func (c *conversation) renew() error {
	if c.resumed {
		c.cache().forgetServer()
		c.resumed = false
		c.close()
		return c.begin()
	}
	if _, web := c.server.(*httpServer); web && c.greeting.version == 2 {
		return nil // requests are independent of each other
	}
	c.close()
	return c.begin()
}

// list asks for the refs that matter, where they are not known.
func (c *conversation) list() (*advertisement, error) {
	if c.refs != nil {
		return c.refs, nil
	}
	refs, err := c.listed()
	if c.resumed && err != nil {
		c.cache().forgetServer()
		if !c.surprising(c.ctx, err) {
			return nil, err
		}
		if err := c.renew(); err != nil {
			return nil, err
		}
		return c.list()
	}
	if web, ok := c.server.(*httpServer); ok && err == nil && c.isAt(web.base) {
		c.cache().rememberServer(web.base, c.greeting)
	}
	c.refs = refs
	return refs, err
}

// head finds the revision that the ref stands at.
func (c *conversation) head() (object.Revision, error) {
	a, err := c.list()
	if err != nil {
		return object.Revision{}, err
	}
	if found := c.Ref.resolve(a); !found.Hash.IsZero() {
		return found, nil
	}
	if c.greeting.version == 2 && len(a.refs) == 0 {
		switch empty, err := c.isEmpty(); {
		case err != nil:
			return object.Revision{}, err
		case empty:
			return object.Revision{}, errEmpty
		}
	}
	return object.Revision{}, c.fail(source.ErrRefMissing, "there is no "+c.Ref.String())
}

// surprising reports whether an error is one of an exchange that has gone otherwise than
// expected, after which another way may lead further. It is not, where the server cannot
// be reached, does not let us in, or asks for no more requests.
func (t *target) surprising(ctx context.Context, err error) bool {
	var status *httpStatus
	var line *pktline.ErrorLine
	switch {
	case err == nil, ctx.Err() != nil, t.network(err) != nil, t.certificate(err) != nil:
		return false
	case errors.As(err, &status):
		return status.code < 500 && !errors.Is(err, source.ErrUnauthorized) && !errors.Is(err, source.ErrRateLimited) && !errors.Is(err, source.ErrUnreachable)
	case errors.As(err, &line), errors.Is(err, io.EOF):
		return true
	}
	ours, spoken := errors.AsType[*source.Error](err)
	return !spoken || errors.Is(ours, source.ErrServer) || errors.Is(ours, source.ErrRedirect)
}
