package object

import "testing"

// A delta says how large its result is before it is applied.
func TestFits(t *testing.T) {
	for name, c := range map[string]struct {
		delta []byte
		want  bool
	}{
		"small":     {[]byte{5, 10}, true},
		"large":     {[]byte{5, 0x80, 0x80, 0x80, 0x80, 1}, false},
		"no end":    {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
		"cut short": {[]byte{0x80}, true},
	} {
		if got := fits(c.delta); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
