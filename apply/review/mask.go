package review

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// Labels and annotations are no place for secrets, and people put them there all
// the same. What looks like one is masked everywhere in a review, which may be read
// by more people than the cluster is.

// secretKey is the last part of the name of a key that says its value is a secret.
var secretKey = regexp.MustCompile(`(?i)(^|[-_./])(password|passwd|passphrase|secret|token|credentials?|api-?key|access-?key|private-?key)$`)

// secretValue is what some well-known credentials look like.
var secretValue = regexp.MustCompile(strings.Join([]string{
	`\bgh[opusr]_[A-Za-z0-9]{20,}`,                                   // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20,}`,                                 // GitHub
	`\bglpat-[A-Za-z0-9_-]{16,}`,                                     // GitLab
	`\b(AKIA|ASIA)[A-Z0-9]{16}\b`,                                    // AWS
	`\bAIza[A-Za-z0-9_-]{30,}`,                                       // Google
	`\bxox[abprs]-[A-Za-z0-9-]{10,}`,                                 // Slack
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]{4,})`, // JSON web tokens, those of service accounts too
	`-----BEGIN [A-Z ]*PRIVATE KEY-----`,
	`://[^/\s:@]+:[^/\s@]+@`, // a password in a URL
}, "|"))

func looksSecret(key, value string) bool {
	name, _, _ := strings.Cut(key, ":") // the effect of a taint
	return value != "" && !strings.HasPrefix(value, masked) && (secretKey.MatchString(name) || secretValue.MatchString(value))
}

// masked is what stands in the place of a secret. Where one becomes another, the
// reader is to see that it changes.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// mask replaces what looks like a secret, and then every other mention of it.
func mask(r *Review) {
	m := &masker{}
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
	for _, conflict := range r.Conflicts {
		for i := range conflict.Claims {
			m.claim(&conflict.Claims[i])
		}
	}
	for i := range r.Records {
		m.record(&r.Records[i].Value)
	}
	if len(m.found) == 0 {
		return
	}
	for _, list := range [][]string{r.Problems, r.Notes} {
		for i := range list {
			list[i] = m.text(list[i])
		}
	}
}

type masker struct{ found []string }

func (m *masker) note(secret string) {
	if !slices.Contains(m.found, secret) {
		m.found = append(m.found, secret)
	}
}

// text is a text without the secrets that were found. Short ones are words too.
func (m *masker) text(text string) string {
	for _, secret := range m.found {
		if len(secret) >= 8 {
			text = strings.ReplaceAll(text, secret, masked)
		}
	}
	return text
}

// pair masks an object as it was and as it becomes.
func (m *masker) pair(before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		was, had := before[key]
		is, has := after[key]
		wasText, wasString := was.(string)
		isText, isString := is.(string)
		same := wasString && isString && wasText == isText
		if had && wasString && looksSecret(nameOf(key, before), wasText) {
			m.note(wasText)
			if before[key] = maskedBefore; same || !has {
				before[key] = masked
			}
		}
		if has && isString && looksSecret(nameOf(key, after), isText) {
			m.note(isText)
			if after[key] = maskedAfter; same || !had {
				after[key] = masked
			}
		}
		if wasString || isString {
			continue
		}
		wasMap, _ := was.(map[string]any)
		isMap, _ := is.(map[string]any)
		m.pair(wasMap, isMap)
		m.lists(was, is)
	}
}

// lists masks what is in lists: the taints and tolerations above all.
func (m *masker) lists(was, is any) {
	before, _ := was.([]any)
	after, _ := is.([]any)
	for i := range max(len(before), len(after)) {
		var wasMap, isMap map[string]any
		if i < len(before) {
			wasMap, _ = before[i].(map[string]any)
		}
		if i < len(after) {
			isMap, _ = after[i].(map[string]any)
		}
		m.pair(wasMap, isMap)
	}
}

// nameOf is what a text is the value of: in a taint, that is its key.
func nameOf(field string, object map[string]any) string {
	if key, found := object["key"].(string); found && field == "value" {
		return key
	}
	return field
}

func keysOf(maps ...map[string]any) []string {
	var keys []string
	for _, each := range maps {
		for key := range each {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (m *masker) change(change *plan.KeyChange) {
	before, after := change.Before, change.After
	hide := func(value *string, other *string, as string) *string {
		if value == nil || !looksSecret(change.Key, *value) {
			return value
		}
		m.note(*value)
		if other == nil {
			as = masked
		}
		return &as
	}
	change.Before, change.After = hide(before, after, maskedBefore), hide(after, before, maskedAfter)
}

func (m *masker) claim(claim *plan.Conflict) {
	if claim.Have != nil && looksSecret(claim.Key, *claim.Have) {
		m.note(*claim.Have)
		have := maskedBefore
		claim.Have = &have
	}
	if looksSecret(claim.Key, claim.Want) {
		m.note(claim.Want)
		claim.Want = maskedAfter
	}
	rivals := slices.Clone(claim.Rivals)
	for i := range rivals {
		if looksSecret(claim.Key, rivals[i].Value) {
			m.note(rivals[i].Value)
			rivals[i].Value = masked
		}
	}
	claim.Rivals = rivals
}

// record masks the values within a record, which is JSON.
func (m *masker) record(value *string) {
	var fields any
	if *value == "" || json.Unmarshal([]byte(*value), &fields) != nil {
		return
	}
	found := len(m.found)
	m.walk("", fields)
	if len(m.found) == found && m.text(*value) == *value {
		return
	}
	if text, err := json.Marshal(fields); err == nil {
		*value = m.text(string(text))
	}
}

// walk masks the texts of a JSON value in place.
func (m *masker) walk(key string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if text, isText := inner.(string); isText && looksSecret(name, text) {
				m.note(text)
				value[name] = masked
				continue
			}
			m.walk(name, inner)
		}
	case []any:
		for _, inner := range value {
			m.walk(key, inner)
		}
	}
}
