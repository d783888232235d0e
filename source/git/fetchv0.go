package git

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// request is one request for a pack.
type request struct {
	wants []plumbing.Hash
	// shallow asks for the commits that are wanted and not for their history.
	shallow bool
	// onto is a commit that is there already; the pack then has what is new since, and
	// differences to what is there. The zero hash is none.
	onto plumbing.Hash
	// ontoShallow says that it is there without its history.
	ontoShallow bool
	// largest is the size of the largest file of use, in bytes.
	largest int64
}

// encode writes the request as version 0 of the protocol has it:
// https://git-scm.com/docs/pack-protocol#_packfile_negotiation
//
// One of multi_ack_detailed and multi_ack is asked for where it is offered, though there
// is nothing to negotiate: Azure DevOps serves nobody without either.
func (r request) encode(a *advertisement) ([]byte, error) {
	words := r.words(a)
	shallow := r.shallow && a.offers("shallow")
	var body bytes.Buffer
	lines := pktline.NewEncoder(&body)
	for i, want := range r.wants {
		line := "want " + want.String()
		if i == 0 {
			line += " " + strings.Join(words, " ")
		}
		if err := lines.EncodeString(line + "\n"); err != nil {
			return nil, err
		}
	}
	var options []string
	if !r.onto.IsZero() && r.ontoShallow {
		options = append(options, "shallow "+r.onto.String()+"\n")
	}
	if shallow {
		options = append(options, "deepen 1\n")
	}
	if a.offers("filter") { // files that would be refused need not travel
		options = append(options, fmt.Sprintf("filter blob:limit=%d\n", r.largest+1))
	}
	if err := lines.EncodeString(options...); err != nil {
		return nil, err
	}
	if err := lines.Flush(); err != nil {
		return nil, err
	}
	if !r.onto.IsZero() {
		if err := lines.EncodeString("have " + r.onto.String() + "\n"); err != nil {
			return nil, err
		}
	}
	if err := lines.EncodeString("done\n"); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// words are the capabilities that the request makes use of.
func (r request) words(a *advertisement) []string {
	var words []string
	add := func(wanted ...string) bool {
		for _, word := range wanted {
			if a.offers(word) {
				words = append(words, word)
				return true
			}
		}
		return false
	}
	add("multi_ack_detailed", "multi_ack")
	add("side-band-64k")
	add("ofs-delta")
	add("no-progress")
	if !r.onto.IsZero() {
		add("thin-pack")
	}
	if r.shallow || r.ontoShallow {
		add("shallow")
	}
	add("filter")
	if a.offers("agent") {
		words = append(words, "agent="+agent)
	}
	return words
}

// receiveV0 stores the pack of an answer in version 0.
func receiveV0(answer io.Reader, a *advertisement, r request, into *pack) error {
	if err := skipNegotiation(answer, r.shallow && a.offers("shallow")); err != nil {
		return err
	}
	if a.offers("side-band-64k") {
		answer = sideband.NewDemuxer(sideband.Sideband64k, answer)
	}
	return into.receive(answer)
}

// skipNegotiation reads up to the pack. There is nothing to negotiate, so the server has
// only to say where history is cut off, and which of what was offered it knows.
func skipNegotiation(answer io.Reader, shallow bool) error {
	lines := pktline.NewScanner(answer)
	for range maxNegotiation {
		if !lines.Scan() {
			return broken(lines.Err())
		}
		line := strings.TrimSuffix(string(lines.Bytes()), "\n")
		switch {
		case line == "" && shallow:
			shallow = false
		case shallow && isShallow(line):
		case shallow:
			return errGarbled
		case line == "NAK":
			return nil
		case strings.HasPrefix(line, "ACK "):
			if status := strings.Fields(line)[1:]; len(status) < 2 {
				return nil // the last one
			}
		default:
			return errGarbled
		}
	}
	return errGarbled
}

// maxNegotiation bounds the lines before a pack: one for each commit at which history is
// cut off, as deep as was asked for, and one or two for each that was offered.
const maxNegotiation = 1000

func isShallow(line string) bool {
	return strings.HasPrefix(line, "shallow ") || strings.HasPrefix(line, "unshallow ")
}
