package git

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// advertisement is what a server says of itself and its refs, of which only
// those asked for are kept: a busy repository has hundreds of thousands. In version 2
// of the protocol it says the one and the other apart.
type advertisement struct {
	version      int                      // 2, or 0 for any earlier one
	capabilities map[string]string        // with their values, if any
	head         string                   // the ref that HEAD points to, or empty
	refs         map[string]plumbing.Hash // by full name
	peeled       map[string]plumbing.Hash // the commits of annotated tags
}

// offers reports whether the server has a capability.
func (a *advertisement) offers(capability string) bool {
	_, offered := a.capabilities[capability]
	return offered
}

// fetches reports whether fetch of a server of version 2 has a feature.
func (a *advertisement) fetches(feature string) bool {
	return slices.Contains(strings.Fields(a.capabilities["fetch"]), feature)
}

// at is the commit of a ref, and a zero hash where there is none.
func (a *advertisement) at(short string, full plumbing.ReferenceName) object.Revision {
	if commit, annotated := a.peeled[string(full)]; annotated {
		return object.Revision{Name: short, Hash: commit}
	}
	return object.Revision{Name: short, Hash: a.refs[string(full)]}
}

var (
	// errSilent: the server hung up without a word. Over ssh and file that is
	// how a missing repository shows.
	errSilent = errors.New("no answer")
	// errGarbled: the answer is not the Git protocol.
	errGarbled = errors.New("not the Git protocol")
	// errSHA256 and errEmpty are properties of the repository.
	errSHA256 = errors.New("sha256 repository")
	errEmpty  = errors.New("empty repository")
)

// greet reads what a server begins with: its capabilities, and before version 2 the list
// of refs, of which those are kept that keep names.
func (t *target) greet(s server, keep func(name string, hash plumbing.Hash) bool) (*advertisement, error) {
	stream, err := s.advertise()
	if err != nil {
		return nil, err
	}
	bounded := &boundedReader{from: stream, left: t.limits.advertisement}
	a, err := readAdvertisement(bounded, keep)
	if bounded.exceeded {
		return nil, t.fail(source.ErrTooLarge, "the list of refs is longer than the limit")
	}
	if errors.Is(err, errSilent) {
		return nil, s.explainEnd()
	}
	return a, err
}

// readAdvertisement understands versions 0 and 1 of the protocol, and of version 2 the
// capabilities: https://git-scm.com/docs/pack-protocol#_reference_discovery and
// https://git-scm.com/docs/protocol-v2#_capability_advertisement
func readAdvertisement(r io.Reader, keep func(string, plumbing.Hash) bool) (*advertisement, error) {
	lines := pktline.NewScanner(r)
	if err := skipPreamble(lines); err != nil {
		return nil, err
	}
	a := &advertisement{
		capabilities: map[string]string{},
		refs:         map[string]plumbing.Hash{},
		peeled:       map[string]plumbing.Hash{},
	}
	if strings.TrimSuffix(string(lines.Bytes()), "\n") == "version 2" {
		if err := a.readCapabilities(lines); err != nil {
			return nil, err
		}
		return a, nil
	}
	var last string // the ref before a peeled line, which repeats its name
	var lastHash plumbing.Hash
	for first := true; ; first = false {
		line := strings.TrimSuffix(string(lines.Bytes()), "\n")
		if line == "" {
			break
		}
		if first {
			var capabilities string
			line, capabilities, _ = strings.Cut(line, "\x00")
			a.learn(capabilities)
		}
		hash, name, err := splitRef(line)
		if err != nil {
			return nil, err
		}
		switch base, peeled := strings.CutSuffix(name, "^{}"); {
		case name == "", hash.IsZero(): // a shallow line, or the capabilities of an empty repository
		case !peeled:
			last, lastHash = name, hash
			if keep(name, hash) {
				a.refs[name] = hash
			}
		case base == last && keep(base, hash):
			a.refs[base], a.peeled[base] = lastHash, hash
		}
		if !lines.Scan() {
			return nil, broken(lines.Err())
		}
	}
	if last == "" {
		return nil, errEmpty
	}
	return a, nil
}

// regarded are the capabilities of version 2 that make a difference. They are kept from
// poll to poll, so they are bounded.
var regarded = []string{"ls-refs", "fetch", "object-format", "agent"}

const maxCapability = 1000

// readCapabilities reads those of version 2, one a line, to the end.
func (a *advertisement) readCapabilities(lines *pktline.Scanner) error {
	a.version = 2
	for lines.Scan() {
		line := strings.TrimSuffix(string(lines.Bytes()), "\n")
		if line == "" {
			return a.usable()
		}
		name, value, _ := strings.Cut(line, "=")
		if slices.Contains(regarded, name) {
			if len(value) > maxCapability {
				return errGarbled
			}
			a.capabilities[name] = value
		}
	}
	return broken(lines.Err())
}

// usable is an error where the server lacks what is asked of it, or has other hashes.
func (a *advertisement) usable() error {
	switch {
	case a.capabilities["object-format"] == "sha256":
		return errSHA256
	case !a.offers("ls-refs"), !a.offers("fetch"):
		return errGarbled
	}
	return nil
}

// skipPreamble goes to the first line that is about refs: over http a line with
// the name of the service and a flush come first, in version 1 a version.
func skipPreamble(lines *pktline.Scanner) error {
	if !lines.Scan() {
		if lines.Err() == nil {
			return errSilent
		}
		return broken(lines.Err())
	}
	preamble := 0
	switch first := string(lines.Bytes()); {
	case strings.HasPrefix(first, "# service="):
		preamble = 2
	case strings.HasPrefix(first, "version 1"):
		preamble = 1
	}
	for range preamble {
		if !lines.Scan() {
			return broken(lines.Err())
		}
	}
	return nil
}

// splitRef reads "<hash> <name>". Lines of shallow repositories have no name
// for us.
func splitRef(line string) (plumbing.Hash, string, error) {
	id, name, ok := strings.Cut(line, " ")
	switch {
	case id == "shallow":
		return plumbing.ZeroHash, "", nil
	case len(id) == 64 && object.IsHex(id):
		return plumbing.ZeroHash, "", errSHA256
	case !ok || len(id) != 40 || !object.IsHex(id):
		return plumbing.ZeroHash, "", errGarbled
	}
	return plumbing.NewHash(id), name, nil
}

// learn reads the capabilities, which are words, some with a value.
func (a *advertisement) learn(words string) {
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		if head, ok := strings.CutPrefix(value, "HEAD:"); ok && name == "symref" {
			a.head = head
		}
		a.capabilities[name] = value
	}
}

// broken is an end in the middle of an answer.
func broken(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// boundedReader ends a stream that is longer than allowed, and remembers that it
// did: the readers above it report an end of their own making.
type boundedReader struct {
	from     io.Reader
	left     int64
	exceeded bool
}

var errExceeded = errors.New("limit exceeded")

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.exceeded = true
		return 0, errExceeded
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}
