package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// said is what a pool says of labels and taints; nothing where it is deleted.
type said struct {
	labels map[string]v1.LabelValue
	taints []v1.Taint
}

// value is what the pool says of a key.
func (s said) value(field Field, key string) (string, bool) {
	if field == Label {
		value, says := s.labels[key]
		return string(value), says
	}
	at := slices.IndexFunc(s.taints, func(taint v1.Taint) bool { return idOf(taint) == key })
	if at < 0 {
		return "", false
	}
	return s.taints[at].Value, true
}

func idOf(taint v1.Taint) string {
	return render.TaintID{Key: taint.Key, Effect: taint.Effect}.String()
}

// followedBy stands for what a node has followed of the pool, which says the same still, as
// [Halt.Changes] has it: the keys that changed with it, be it that they went; or what the
// pool says as a whole, where these are not known.
func (r *rollout) followedBy(followed FollowedPool) []string {
	var changes []string
	note := func(field Field, key string, before *string) {
		switch value, says := r.says.value(field, key); {
		case says:
			changes = append(changes, r.saying(field, key, value))
		case before != nil:
			changes = append(changes, r.absence(field, key))
		}
	}
	for key, before := range followed.Labels {
		note(Label, key, before)
	}
	for id, before := range followed.Taints {
		note(Taint, id.String(), before)
	}
	if len(changes) == 0 {
		return []string{followed.Content}
	}
	return changes
}

// saysAny reports whether the pool still says any of what nodes have followed.
func (r *rollout) saysAny(changes []string) bool {
	if slices.Contains(changes, r.content) {
		return true
	}
	own := map[string]bool{}
	for _, change := range changes {
		if strings.HasPrefix(change, r.prefix()) {
			own[change] = true
		}
	}
	if len(own) == 0 {
		return false
	}
	says := func(field Field, key, value string) bool {
		delete(own, r.absence(field, key))
		return own[r.saying(field, key, value)]
	}
	for key, value := range r.says.labels {
		if says(Label, key, string(value)) {
			return true
		}
	}
	for _, taint := range r.says.taints {
		if says(Taint, idOf(taint), taint.Value) {
			return true
		}
	}
	for change := range own {
		if strings.HasSuffix(change, absent) {
			return true
		}
	}
	return false
}

// saying stands for a key and its value, and absence for a key that the pool has no more.
func (r *rollout) saying(field Field, key, value string) string {
	return r.prefix() + digest(6, r.id, string(field), key, value)
}

func (r *rollout) absence(field Field, key string) string {
	return r.prefix() + digest(6, r.id, string(field), key) + absent
}

// prefix is the same of all that stands for what a pool says, and absent ends what it says
// no more.
func (r *rollout) prefix() string { return digest(3, r.id) + "-" }

const absent = "-"

// digest stands for texts, in some bytes of hexadecimal digits.
func digest(bytes int, texts ...string) string {
	text, err := json.Marshal(texts)
	if err != nil {
		panic(err) // never: these are texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:bytes])
}
