package review

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/redact"
)

// Labels and annotations are no place for secrets, but people put them there.
// Everything that looks like one is masked throughout a review, which more
// people may read than the cluster.

// masked replaces a secret. Where one becomes another, the reader must see that
// it changes.
const (
	masked       = redact.Masked
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// mask replaces everything that looks like a secret, by its key or by itself.
func mask(r *Review) {
	m := masker{}
	for i := range r.Pools {
		m.pair(r.Pools[i].Before, r.Pools[i].After)
	}
	for i := range r.RuntimeClasses {
		m.pair(r.RuntimeClasses[i].Before, r.RuntimeClasses[i].After)
	}
	for _, group := range r.Nodes {
		for i := range group.Changes {
			m.change(&group.Changes[i])
		}
	}
	for i, conflict := range r.Conflicts {
		r.Conflicts[i].Key = redact.Text(conflict.Key)
		for j := range conflict.Claims {
			m.claim(&conflict.Claims[j])
		}
	}
	for i := range r.Records {
		m.record(&r.Records[i].Value)
	}
	r.Impact = m.impact(r.Impact)
	sentences(r)
}

// masker masks the parts of a review.
type masker struct{}

// hide returns the text, or its mask where it is or contains a secret. The
// other is the text before or after the change; nil for none.
func (m masker) hide(key, text string, other *string, as string) string {
	if !redact.Secret(key, text) {
		return text
	}
	if other == nil || *other == text {
		as = masked
	}
	return as
}

// pair masks an object before and after the change.
func (m masker) pair(before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		m.texts(nameOf(key, before), before[key], nameOf(key, after), after[key],
			func(text string) { before[key] = text }, func(text string) { after[key] = text })
		if hidden := redact.Text(key); hidden != key {
			rename(before, key, hidden)
			rename(after, key, hidden)
		}
	}
}

// rename renames a field: the key of a label may be a secret, too.
func rename(object map[string]any, key, hidden string) {
	if value, found := object[key]; found {
		delete(object, key)
		for object[hidden] != nil {
			hidden += "*"
		}
		object[hidden] = value
	}
}

// texts masks the value of one field, or of one item of a list, on both sides.
func (m masker) texts(wasName string, was any, isName string, is any, setBefore, setAfter func(string)) {
	before, after := stringOf(was), stringOf(is)
	if before != nil {
		setBefore(m.hide(wasName, *before, after, maskedBefore))
	}
	if after != nil {
		setAfter(m.hide(isName, *after, before, maskedAfter))
	}
	wasMap, _ := was.(map[string]any)
	isMap, _ := is.(map[string]any)
	m.pair(wasMap, isMap)
	wasList, _ := was.([]any)
	isList, _ := is.([]any)
	m.lists(wasName, wasList, isName, isList)
}

// lists masks the elements of lists: taints, tolerations, the values of selectors.
func (m masker) lists(wasName string, before []any, isName string, after []any) {
	for i := range max(len(before), len(after)) {
		var was, is any
		if i < len(before) {
			was = before[i]
		}
		if i < len(after) {
			is = after[i]
		}
		m.texts(wasName, was, isName, is, func(text string) { before[i] = text }, func(text string) { after[i] = text })
	}
}

func stringOf(value any) *string {
	if text, isText := value.(string); isText {
		return &text
	}
	return nil
}

// nameOf returns the name of a value: in a taint or a selector, that is its key.
func nameOf(field string, object map[string]any) string {
	if key, found := object["key"].(string); found && (field == "value" || field == "values") {
		return key
	}
	return field
}

func keysOf(before, after map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (m masker) change(change *plan.KeyChange) {
	before, after, key := change.Before, change.After, change.Key
	change.Key = redact.Text(key)
	if before != nil {
		hidden := m.hide(key, *before, after, maskedBefore)
		change.Before = &hidden
	}
	if after != nil {
		hidden := m.hide(key, *after, before, maskedAfter)
		change.After = &hidden
	}
}

func (m masker) claim(claim *plan.Conflict) {
	want, have, key := claim.Want, claim.Have, claim.Key
	claim.Key = redact.Text(key)
	if have != nil {
		hidden := m.hide(key, *have, &want, maskedBefore)
		claim.Have = &hidden
	}
	claim.Want = m.hide(key, want, have, maskedAfter)
}

// record masks the values within a record, which is JSON. One without secrets
// is not changed.
func (m masker) record(value *string) {
	var fields, original map[string]any
	if json.Unmarshal([]byte(*value), &fields) != nil || json.Unmarshal([]byte(*value), &original) != nil {
		return
	}
	m.pair(fields, nil)
	before, _ := json.Marshal(original) // both were decoded from JSON
	if after, err := json.Marshal(fields); err == nil && string(after) != string(before) {
		*value = string(after)
	}
}

// sentences masks secrets in the sentences of the review. What only its key makes a secret
// is not searched for: an author could blank any sentence by such a key.
func sentences(r *Review) {
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = redact.Text(*text)
		}
	}
	lists := [][]string{r.Problems, r.Notes}
	if broken := r.Compared.BrokenBase; broken != nil {
		hide(&broken.Revision)
		lists = append(lists, broken.Problems)
	}
	for i := range r.Records {
		hide(&r.Records[i].Value)
	}
	hide(&r.Compared.Base, &r.Compared.Head)
	for i := range r.HeldReleases {
		hide(&r.HeldReleases[i].Reason, &r.HeldReleases[i].Remedy)
	}
	for i := range r.Rollouts {
		hide(&r.Rollouts[i].Stays)
	}
	for i := range r.WeakenedRollouts {
		lists = append(lists, r.WeakenedRollouts[i].Changes)
	}
	for _, list := range lists {
		for i := range list {
			hide(&list[i])
		}
	}
	if r.HeldBack != nil {
		hide(&r.HeldBack.Reason, &r.HeldBack.Remedy)
	}
}
