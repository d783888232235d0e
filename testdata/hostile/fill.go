package hostile

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Fill replaces every string within a value: in fields, slices, maps (as key
// and as value) and behind pointers, in a fixed order. A named string type,
// such as an action, keeps its value. Nil and empty values stay so: Fill adds
// no elements.
//
// The value must be a pointer. Next returns the replacement of a string.
func Fill(value any, next func(was string) string) {
	fill(reflect.ValueOf(value).Elem(), next)
}

func fill(v reflect.Value, next func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(next(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), next)
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(filled(v.Elem(), next))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), next)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Map:
		fillMap(v, next)
	}
}

// fillMap rebuilds the map, as its keys change. Of two keys that become equal one stays.
func fillMap(v reflect.Value, next func(string) string) {
	before := map[string]reflect.Value{}
	for _, key := range v.MapKeys() {
		before[fmt.Sprint(key)] = key
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		key := before[name]
		value := v.MapIndex(key)
		v.SetMapIndex(key, reflect.Value{})
		v.SetMapIndex(filled(key, next), filled(value, next))
	}
}

// filled returns a filled copy of a value that cannot be set in place.
func filled(v reflect.Value, next func(string) string) reflect.Value {
	anew := reflect.New(v.Type()).Elem()
	anew.Set(v)
	fill(anew, next)
	return anew
}

// Hidden returns the characters of an output that no reader sees, or that
// control a terminal: all unprintable ones except for the line feed and the
// space, and those that are invisible in spite of their class. It is empty for
// a sanitized output. A byte that is not UTF-8 is returned as the replacement
// character.
func Hidden(output string) []rune {
	var found []rune
	for i, r := range output {
		switch {
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(output[i:]); size == 1 {
				found = append(found, r)
			}
		case r == '\n' || unicode.IsPrint(r) && !unicode.In(r, blank, unicode.Variation_Selector):
		default:
			found = append(found, r)
		}
	}
	return found
}

// blank are invisible letters, marks and signs. Printable ones with Unicode's
// property Default_Ignorable_Code_Point are listed one by one, so that a
// mistake in the product's list is not repeated.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, {0xffa0, 0xffa0, 1}},
	R32: []unicode.Range32{{0x1d159, 0x1d159, 1}},
}

// Commands returns the parts of an output that a CI runner would execute in a job log.
func Commands(output string) []string { return command.FindAllString(output, -1) }

// command differs from the product's pattern on purpose. GitHub Actions reads
// lines of the process, and blanks as Unicode defines white space.
var command = regexp.MustCompile(`(?:^|[\n\r\x{85}\x{2028}\x{2029}])[\s\x{85}\p{Z}]*::[^\n]?|(?i:##[a-z]*\[)`)
