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

// follows stands for what a node follows of the pool with a change of these keys, as
// [FollowedPool.Keys] has it: for those that get the value that the pool says, and those that
// it no longer says anything of. What a stronger pool says of a key is not of this one.
func (r *rollout) follows(labels map[string]keyValues, taints map[render.TaintID]keyValues) []string {
	var keys []string
	note := func(field Field, key string, values keyValues) {
		switch value, says := r.says.value(field, key); {
		case says && values.after != nil && *values.after == value:
			keys = append(keys, r.saying(field, key, value))
		case !says && values.before != nil:
			keys = append(keys, r.absence(field, key))
		}
	}
	for key, values := range labels {
		note(Label, key, values)
	}
	for id, values := range taints {
		note(Taint, id.String(), values)
	}
	return bounded(keys)
}

// maxFollowedKeys bounds what a record notes of a pool: it is more than a pool can change at
// once but by replacing nearly all that it says.
const maxFollowedKeys = 160

// bounded are keys as they stand in a record.
func bounded(keys []string) []string {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return slices.Clip(keys[:min(len(keys), maxFollowedKeys)])
}

// without are the keys that a node has followed, less those that change with a write in which
// it follows nothing.
func (r *rollout) without(keys []string, labels map[string]keyValues, taints map[render.TaintID]keyValues) []string {
	if len(keys) == 0 || len(labels)+len(taints) == 0 {
		return keys
	}
	changed := map[string]bool{}
	note := func(field Field, key string, values keyValues) {
		changed[r.absence(field, key)] = true
		if values.before != nil {
			changed[r.saying(field, key, *values.before)] = true
		}
	}
	for key, values := range labels {
		note(Label, key, values)
	}
	for id, values := range taints {
		note(Taint, id.String(), values)
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return changed[key] })
}

// followedSince is what a node has followed, where it had followed something else of the pool
// so shortly before that it may fail by that still. One that is not ready any more fails by
// what it has followed then: it does not count as not ready from the outset.
func (r *rollout) followedSince(before, followed FollowedPool) FollowedPool {
	keys := slices.DeleteFunc(slices.Clone(before.Keys), func(key string) bool { return !r.stands(key) })
	if len(keys) == 0 || before.Unready {
		return followed
	}
	if all := append(keys, followed.Keys...); len(all) <= maxFollowedKeys {
		followed.Keys = bounded(all)
	}
	if followed.Unready {
		followed.At, followed.Unready = before.At, false
	}
	return followed
}

// saysAny reports whether the pool still says any of what nodes have followed.
func (r *rollout) saysAny(changes []string) bool {
	return slices.ContainsFunc(changes, func(change string) bool {
		key, own := strings.CutPrefix(change, r.prefix())
		return change == r.content || own && r.stands(key)
	})
}

// stands reports whether the pool says what stands for a value of a key, or for its absence.
func (r *rollout) stands(key string) bool {
	r.sayingsOnce.Do(r.readSayings)
	return r.sayings[key] != strings.HasSuffix(key, absent)
}

// readSayings works out what stands for the values that the pool says, and for the absence of
// these keys: nothing is to be hashed for each of thousands of nodes.
func (r *rollout) readSayings() {
	r.sayings = make(map[string]bool, 2*(len(r.says.labels)+len(r.says.taints)))
	r.sayingsByKey = make(map[keyOf]string, len(r.sayings)/2)
	note := func(field Field, key, value string) {
		saying := r.saying(field, key, value)
		r.sayings[saying], r.sayings[r.absence(field, key)] = true, true
		r.sayingsByKey[keyOf{field, key}] = saying
	}
	for key, value := range r.says.labels {
		note(Label, key, string(value))
	}
	for _, taint := range r.says.taints {
		note(Taint, idOf(taint), taint.Value)
	}
	r.idDigest = digest(3, r.id) + "-"
}

// keyOf is a key of a field.
type keyOf struct {
	field Field
	key   string
}

// sayingOf stands for the value that the pool says of a key.
func (r *rollout) sayingOf(field Field, key string) (saying string, says bool) {
	r.sayingsOnce.Do(r.readSayings)
	saying, says = r.sayingsByKey[keyOf{field, key}]
	return saying, says
}

// saying stands for a key and its value, and absence for a key that the pool has no more.
func (r *rollout) saying(field Field, key, value string) string {
	return digest(keyBytes, r.id, string(field), key, value)
}

func (r *rollout) absence(field Field, key string) string {
	return digest(keyBytes, r.id, string(field), key) + absent
}

// prefix is the same of all that stands in halts for what a pool says.
func (r *rollout) prefix() string {
	r.sayingsOnce.Do(r.readSayings)
	return r.idDigest
}

const (
	// absent ends what stands for a key that the pool has no more.
	absent = "-"
	// keyBytes is how many bytes stand for a key.
	keyBytes = 6
)

// isFollowedKey reports whether a text can stand for a key.
func isFollowedKey(text string) bool {
	bytes, err := hex.DecodeString(strings.TrimSuffix(text, absent))
	return err == nil && len(bytes) == keyBytes && strings.ToLower(text) == text
}

// digest stands for texts, in some bytes of hexadecimal digits.
func digest(bytes int, texts ...string) string {
	text, err := json.Marshal(texts)
	if err != nil {
		panic(err) // never: these are texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:bytes])
}
