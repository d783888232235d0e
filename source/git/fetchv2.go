package git

import (
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// encodeV2 writes the request as version 2 of the protocol has it:
// https://git-scm.com/docs/protocol-v2#_fetch
func (r request) encodeV2(a *advertisement) []byte {
	c := newCommand("fetch", a)
	if !r.onto.IsZero() {
		c.line("thin-pack")
	}
	c.line("no-progress")
	c.line("ofs-delta")
	for _, want := range r.wants {
		c.line("want " + want.String())
	}
	if a.fetches("shallow") {
		if !r.onto.IsZero() && r.ontoShallow {
			c.line("shallow " + r.onto.String())
		}
		if r.shallow {
			c.line("deepen 1")
		}
	}
	if a.fetches("filter") { // files that would be refused need not travel
		c.line(fmt.Sprintf("filter blob:limit=%d", r.largest+1))
	}
	if !r.onto.IsZero() {
		c.line("have " + r.onto.String())
	}
	c.line("done")
	return c.end()
}

// receiveV2 stores the pack of an answer in version 2.
func receiveV2(answer io.Reader, into *pack) error {
	if err := skipSections(answer); err != nil {
		return err
	}
	return into.receive(sideband.NewDemuxer(sideband.Sideband64k, answer))
}

// skipSections reads up to the pack. What comes before it says nothing that was not known,
// and sections that were not asked for, which lead elsewhere, are none of an answer.
func skipSections(answer io.Reader) error {
	lines := &packets{from: answer}
	section, passed := "", 0
	order := []string{"acknowledgments", "shallow-info"}
	for range maxNegotiation {
		kind, line, err := lines.next()
		switch {
		case err != nil:
			return broken(ignoreEOF(err))
		case kind == delimiterPacket && section != "":
			section = ""
		case kind != dataPacket:
			return errGarbled
		case section == "" && line == "packfile":
			return nil
		case section == "":
			for passed < len(order) && order[passed] != line {
				passed++
			}
			if passed == len(order) {
				return errGarbled
			}
			section = line
			passed++
		case section == "shallow-info" && !isShallow(line):
			return errGarbled
		}
	}
	return errGarbled
}
