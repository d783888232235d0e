package impact

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Reason says why pods cannot be on a node. It is words, and apart from them the values
// of labels and taints, so that those which are secrets can be masked. It is empty where
// nothing is in the way. In JSON it is a string.
type Reason []Part

// Part is words of a reason, or the value of a label or a taint.
type Part struct {
	// Key is the key of the label or taint; empty for words.
	Key string
	// Text is the words or the value.
	Text string
}

// Words is a reason without values.
func Words(text string) Reason { return Reason{{Text: text}} }

// String is the reason as it is shown.
func (r Reason) String() string {
	var text strings.Builder
	for _, part := range r {
		text.WriteString(part.Text)
	}
	return text.String()
}

// MarshalText implements [encoding.TextMarshaler].
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. What is read are words.
func (r *Reason) UnmarshalText(text []byte) error {
	*r = Words(string(text))
	return nil
}

// Equal reports whether two reasons are shown in the same way.
func (r Reason) Equal(other Reason) bool { return r.String() == other.String() }

// Masked is the reason as words, in which each value is what mask returns for it.
func (r Reason) Masked(mask func(key, value string) string) Reason {
	masked := slices.Clone(r)
	for i, part := range masked {
		if part.Key != "" {
			masked[i].Text = mask(part.Key, part.Text)
		}
	}
	return Words(masked.String())
}

// and is the reason with others after it.
func (r Reason) and(others ...Reason) Reason {
	return append(slices.Clip(r), slices.Concat(others...)...)
}

// labelReason is how a reason names a label: key=value, or its key alone.
func labelReason(key, value string) Reason {
	if value == "" {
		return Words(key)
	}
	return Reason{{Text: key + "="}, {Key: key, Text: value}}
}

// taintReason is how a reason names a taint: key=value:Effect, or key:Effect.
func taintReason(of *corev1.Taint) Reason {
	return labelReason(of.Key, of.Value).and(Words(":" + string(of.Effect)))
}

// quotedReason is how a reason names a value alone.
func quotedReason(key, value string) Reason {
	text := strconv.Quote(value)
	return Reason{{Text: `"`}, {Key: key, Text: text[1 : len(text)-1]}, {Text: `"`}}
}
