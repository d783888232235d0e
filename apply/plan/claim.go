package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// ClaimError says that pools of a revision exist and that the source does not own
// them. The revision is then not taken at all.
type ClaimError struct {
	Source    string
	SourceUID types.UID
	// Claims are the pools, each with its owner, sorted by pool.
	Claims []Claim
}

// Claim is a pool that a revision has and that its source does not own.
type Claim struct {
	Pool string
	// File and Line where the revision has it.
	File string
	Line int
	// Owner is the name and OwnerUID the UID of the source that the pool was applied
	// by or handed to; without a UID the pool is no source's, whatever its label says.
	Owner    string
	OwnerUID types.UID
	// Undecided says why it is not known whether the owner has the pool still, as in "is
	// suspended"; empty where it is known. Soon reports that nobody has to act for that.
	Undecided string
	Soon      bool
}

// Soon reports whether all pools may be taken up soon, when their owners have been read.
func (e *ClaimError) Soon() bool {
	return len(e.Claims) > 0 && !slices.ContainsFunc(e.Claims, func(claim Claim) bool { return !claim.Soon })
}

// awaited are the names of the owners that have to be read, sorted.
func (e *ClaimError) awaited() []string {
	var names []string
	for _, claim := range e.Claims {
		if claim.Undecided != "" && claim.Undecided != beingDeleted {
			names = append(names, claim.Owner)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *ClaimError) Error() string {
	return strings.Join(append(e.Lines(), e.Remedy()), "\n")
}

// Lines says of each pool where the revision has it and who owns it.
func (e *ClaimError) Lines() []string {
	lines := make([]string, 0, len(e.Claims))
	for _, claim := range e.Claims {
		lines = append(lines, fmt.Sprintf("%s:%d: pool %q exists already, and %s", claim.File, claim.Line, claim.Pool, e.owner(claim)))
	}
	return lines
}

func (e *ClaimError) owner(claim Claim) string {
	switch {
	case claim.OwnerUID == "" && claim.Owner == "":
		return "no source has applied it"
	case claim.OwnerUID == "":
		return fmt.Sprintf("no source has applied it, although it is labelled with %q", claim.Owner)
	case claim.Owner == e.Source:
		return fmt.Sprintf("an earlier source of the name %q owns it, with the UID %s", claim.Owner, quoteUID(claim.OwnerUID))
	case claim.Undecided != "":
		return fmt.Sprintf("source %q owns it, and %s: whether it has given it up is not known", claim.Owner, claim.Undecided)
	default:
		return fmt.Sprintf("source %q owns it", claim.Owner)
	}
}

// maxCommand bounds the command that hands pools over, in bytes: a condition has
// room for it, and so has the command line of every shell.
const maxCommand = 3000

// Remedy is the one command that hands all pools over. Where they are too many for
// one, it is of as many as fit, and the next attempt names the others.
func (e *ClaimError) Remedy() string {
	if e.Soon() {
		return "nothing to do: they are taken up if their sources, which are read next, have them no more"
	}
	if e.SourceUID == UnknownSourceUID {
		return "they can be handed over once the source exists: the status of its NodePoolSource has the command then"
	}
	var names []string
	length := 0
	for _, claim := range e.Claims {
		if length += len(claim.Pool) + 1; len(names) > 0 && length > maxCommand {
			break
		}
		names = append(names, claim.Pool)
	}
	text := "hand over what is meant to be this source's with: " + command.Annotate(command.Pools, v1.SourceUIDAnnotation, string(e.SourceUID), names...)
	if e.SourceUID == "" {
		text = "if no source is to own it any more, take it from its source with: " + command.RemoveAnnotation(command.Pools, v1.SourceUIDAnnotation, names...)
	}
	if more := len(e.Claims) - len(names); more > 0 {
		text += fmt.Sprintf(" (these are the first %d; the other %d are named once these are handed over)", len(names), more)
	}
	return text
}

// quoteUID writes a UID as it may stand in a text: anybody who may write pools
// chooses it.
func quoteUID(uid types.UID) string { return quote(string(uid)) }

func claims(revision Revision, live map[string]*v1.NodePool) error {
	var claimed []Claim
	for _, definition := range revision.Pools {
		pool, found := live[definition.Pool.Name]
		if !found || isOf(revision.SourceUID, pool) {
			continue
		}
		owner := revision.ownerOf(pool)
		if owner.gaveUp(pool) {
			continue
		}
		claim := Claim{
			Pool: pool.Name, File: definition.File, Line: definition.Line,
			Owner: pool.Labels[v1.SourceLabel], OwnerUID: types.UID(pool.Annotations[v1.SourceUIDAnnotation]),
		}
		if owner != nil {
			claim.Owner = owner.Name
			claim.Undecided, claim.Soon = owner.undecided(pool.Name)
		}
		claimed = append(claimed, claim)
	}
	if claimed == nil {
		return nil
	}
	slices.SortFunc(claimed, func(a, b Claim) int { return cmp.Compare(a.Pool, b.Pool) })
	return &ClaimError{Source: revision.Source, SourceUID: revision.SourceUID, Claims: claimed}
}
