package git

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// request is one upload-pack request.
type request struct {
	wants   []plumbing.Hash
	shallow bool
}

// encode writes the request as the protocol has it:
// https://git-scm.com/docs/pack-protocol#_packfile_negotiation
//
// multi_ack is asked for where it is offered, though there is nothing to
// negotiate: Azure DevOps serves nobody without it.
func (r request) encode(a *advertisement, largest int64) ([]byte, error) {
	var words []string
	for _, word := range []string{"multi_ack_detailed", "side-band-64k", "ofs-delta", "no-progress"} {
		if a.capabilities[word] {
			words = append(words, word)
		}
	}
	shallow := r.shallow && a.capabilities["shallow"]
	if shallow {
		words = append(words, "shallow")
	}
	if a.capabilities["filter"] {
		words = append(words, "filter")
	}
	if a.capabilities["agent"] {
		words = append(words, "agent="+capability.DefaultAgent())
	}
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
	if shallow {
		if err := lines.EncodeString("deepen 1\n"); err != nil {
			return nil, err
		}
	}
	if a.capabilities["filter"] { // files that would be refused need not travel
		if err := lines.Encodef("filter blob:limit=%d\n", largest+1); err != nil {
			return nil, err
		}
	}
	if err := lines.Flush(); err != nil {
		return nil, err
	}
	if err := lines.EncodeString("done\n"); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// take sends the request and stores the pack that comes back.
func (t *target) take(s server, a *advertisement, r request, into *pack) error {
	body, err := r.encode(a, t.limits.FileBytes)
	if err != nil {
		return err
	}
	answer, err := s.request(body)
	if err != nil {
		return err
	}
	if err := skipNegotiation(answer, r.shallow && a.capabilities["shallow"]); err != nil {
		if _, spoken := errors.AsType[*pktline.ErrorLine](err); spoken {
			return errRefused
		}
		return err
	}
	if a.capabilities["side-band-64k"] {
		answer = sideband.NewDemuxer(sideband.Sideband64k, answer)
	}
	into.partial = a.capabilities["filter"]
	return into.receive(answer)
}

// skipNegotiation reads up to the pack. Nothing was offered, so the server has
// only to say where history is cut off, and that it knows nothing in common.
func skipNegotiation(answer io.Reader, shallow bool) error {
	lines := pktline.NewScanner(answer)
	for lines.Scan() {
		line := string(lines.Bytes())
		switch {
		case line == "" && shallow:
			shallow = false
		case strings.HasPrefix(line, "shallow "), strings.HasPrefix(line, "unshallow "):
		case strings.HasPrefix(line, "NAK") && !shallow:
			return nil
		default:
			return errGarbled
		}
	}
	return broken(lines.Err())
}
