package plan

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// OtherSource is another source of the cluster, for the plan of a revision. By it a pool
// moves from one source to another: a source deletes no pool that another source has, and
// takes up a pool whose owner has it no more. Nobody has to be polled first: while it is
// not known what the other source has, a pool stays where it is.
type OtherSource struct {
	Name string
	UID  types.UID
	// Pools are the names of the pools of its last good revision.
	Pools map[string]bool
	// Unread says why it is not known which pools the source has by now, as in "is
	// suspended"; empty where it is known. Soon reports that nobody has to act for that.
	Unread string
	Soon   bool
	// Waits reports that its revision waits for a window, and Held that it waits for an
	// approval: it has given up no pool yet.
	Waits, Held bool
	// Asked reports that the source is of the same repository, or claims pools of others:
	// pools that vanish may be in it, so that they are kept until it is read.
	Asked bool
}

// Reading is what a process has read last of a source. The zero value, but for the source,
// is that of one that it has not polled.
type Reading struct {
	Source *v1.NodePoolSource
	// Generation of the source that was polled, and when that poll began.
	Generation int64
	At         time.Time
	// Good is the last good revision, Pools are those in it, and Since is when it was read.
	Good  string
	Pools []render.Definition
	Since time.Time
	// Unreachable and Refused report that the last poll failed, and that the newest revision
	// is not good.
	Unreachable, Refused bool
}

// OtherSources returns the other sources as the last good revision of a source has to take
// them into account. A source that follows the same ref is read once its revision is the
// same one, and any other source once it was polled after that.
func OtherSources(of Reading, readings []Reading, now time.Time) []OtherSource {
	var others []OtherSource
	for _, reading := range readings {
		src := reading.Source
		if src.UID == of.Source.UID {
			continue
		}
		other := OtherSource{Name: src.Name, UID: src.UID, Pools: map[string]bool{}}
		other.Unread, other.Soon = reading.unread(of)
		if src.DeletionTimestamp.IsZero() { // or else it takes up nothing any more
			for _, definition := range reading.Pools {
				other.Pools[definition.Pool.Name] = true
			}
			valid := meta.FindStatusCondition(src.Status.Conditions, v1.ValidCondition)
			other.Asked = sameRepository(of.Source, src) ||
				valid != nil && valid.Status == metav1.ConditionFalse && valid.Reason == v1.ClaimedReason
		}
		if other.Unread == "" {
			wait := WindowWaitOf(src, reading.Good, now)
			other.Waits = wait != nil && !wait.Standing
			other.Held = ReleasePolicyOf(src).Blocked == reading.Good && reading.Good != ""
		}
		others = append(others, other)
	}
	slices.SortFunc(others, func(a, b OtherSource) int { return strings.Compare(a.Name, b.Name) })
	return others
}

// beingDeleted is why a source is not read any more: it has no further poll to wait for.
const beingDeleted = "is being deleted"

// unread says why it is not known which pools a source has, and whether that ends by itself.
func (reading Reading) unread(of Reading) (why string, soon bool) {
	const notYet = "was not polled since"
	switch SourceOutcomeOf(reading.Source).State() {
	case SourceStateDeleted, SourceStateDeleting:
		return beingDeleted, false
	case SourceStateSuspended:
		return "is suspended", false
	case SourceStatePaused:
		return "is paused", false
	case SourceStateActive:
	}
	sameRef := SameRef(of.Source, reading.Source)
	switch {
	case reading.Generation != reading.Source.Generation:
		return notYet, true
	case reading.Unreachable:
		return "cannot be polled", true
	case reading.Refused:
		return "has a revision that is not taken", false
	case sameRef && reading.Good == of.Good:
		return "", true
	case reading.At.Before(of.Since):
		return notYet, true
	case sameRef:
		return "is at another revision", true
	}
	return "", true
}

// SameRef reports whether two sources follow one ref of one repository.
func SameRef(a, b *v1.NodePoolSource) bool {
	return sameRepository(a, b) && reflect.DeepEqual(a.Spec.Ref, b.Spec.Ref)
}

// sameRepository reports whether two sources are of one repository: by its host and its
// path, whichever way it is reached.
func sameRepository(a, b *v1.NodePoolSource) bool {
	place := func(src *v1.NodePoolSource) string {
		parsed, err := url.Parse(src.Spec.URL)
		if err != nil {
			return src.Spec.URL
		}
		return strings.ToLower(parsed.Hostname()) + " " + strings.TrimSuffix(strings.Trim(parsed.Path, "/"), ".git")
	}
	return place(a) == place(b)
}

// Handover is a pool that its source has no more, and that another source has.
type Handover struct{ Pool, To string }

func (h Handover) String() string { return fmt.Sprintf("%s (source %q)", h.Pool, h.To) }

// handed takes those of the pools that are gone from a revision which another source has.
func (r Revision) handed(gone []*v1.NodePool) (handed []Handover, rest []*v1.NodePool) {
	for _, pool := range gone {
		at := slices.IndexFunc(r.Others, func(other OtherSource) bool { return other.Pools[pool.Name] })
		if at < 0 {
			rest = append(rest, pool)
			continue
		}
		handed = append(handed, Handover{Pool: pool.Name, To: r.Others[at].Name})
	}
	return handed, rest
}

// unread are the other sources that may have pools which are gone from a revision.
func (r Revision) unread() []OtherSource {
	return slices.DeleteFunc(slices.Clone(r.Others), func(other OtherSource) bool { return !other.Asked || other.Unread == "" })
}

// ownerOf is the other source that has applied a pool; nil where it is none.
func (r Revision) ownerOf(pool *v1.NodePool) *OtherSource {
	at := slices.IndexFunc(r.Others, func(other OtherSource) bool { return owns(other.UID, pool) })
	if at < 0 {
		return nil
	}
	return &r.Others[at]
}

// gaveUp reports whether a source is known to have a pool no more, and nobody has said that the
// pool must stay as it is.
func (o *OtherSource) gaveUp(pool *v1.NodePool) bool {
	return o != nil && o.Unread == "" && !o.Waits && !o.Held && !o.Pools[pool.Name] && !kept(pool)
}

// undecided says why it is not known whether the source has a pool; empty where it is
// known. Soon reports that this ends by itself.
func (o *OtherSource) undecided(pool string) (why string, soon bool) {
	switch {
	case o.Unread != "":
		return o.Unread, o.Soon
	case o.Waits && !o.Pools[pool]:
		return "waits for a window", true
	case o.Held && !o.Pools[pool]:
		return "waits for an approval", false
	}
	return "", false
}
