package nodecache

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func TestTextsThatAreEqualAreOne(t *testing.T) {
	same := func(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }
	var set texts
	first := set.one(strings.Clone("gold"))
	again, other := set.one(strings.Clone("gold")), set.one(strings.Clone("silver"))
	if !same(first, again) || same(first, other) {
		t.Error("equal texts are not one, or different ones are")
	}
	if first != "gold" || other != "silver" || set.one("") != "" {
		t.Errorf("the texts became %q, %q", first, other)
	}
	given := map[string]string{strings.Clone("gold"): "", "empty": "", "tier": strings.Clone("silver")}
	all := set.all(given)
	if !maps.Equal(all, given) {
		t.Errorf("the map became %v", all)
	}
	for key := range all {
		if key == "gold" && !same(key, first) {
			t.Error("an equal key is a copy")
		}
	}
	if !same(all["tier"], other) {
		t.Error("an equal value is a copy")
	}
	if set.all(nil) != nil || set.all(map[string]string{}) != nil {
		t.Error("no texts are not no map")
	}
}

// Texts of single nodes do not accumulate.
func TestTextsAreBounded(t *testing.T) {
	var set texts
	check := func() {
		t.Helper()
		size := 0
		for text := range set.known {
			size += len(text)
		}
		if size != set.size || size > textsSize {
			t.Fatalf("there are %d bytes, counted as %d, want at most %d", size, set.size, textsSize)
		}
	}
	for i := range 3 * textsSize / 100 {
		text := strings.Repeat("x", 100) + strconv.Itoa(i)
		if got := set.one(text); got != text {
			t.Fatalf("%s became %s", text, got)
		}
		if i%1000 == 0 {
			check()
		}
	}
	huge := strings.Repeat("y", textsSize+1)
	if set.one(huge) != huge {
		t.Error("a huge text became another")
	}
	check()
}
