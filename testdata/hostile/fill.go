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

// Fill puts a string in every place of a value that holds one: in fields, slices,
// maps (as key and as value) and behind pointers, in an order that stays. A type
// made of a string, such as an action, is no name and keeps its value. What is nil
// or empty stays so: Fill makes nothing longer.
//
// The value must be a pointer. Next is given what stood there, and returns what shall.
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

// fillMap makes the map anew, as its keys change. Of two keys that become the same
// one stays.
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

// filled is a copy of a value that cannot be set in place.
func filled(v reflect.Value, next func(string) string) reflect.Value {
	anew := reflect.New(v.Type()).Elem()
	anew.Set(v)
	fill(anew, next)
	return anew
}

// Hidden are the characters of an output that no reader sees, or that drive what he
// reads with: all that is not printed, but for the line feed and the space, and
// what is invisible in spite of its class. It is empty for an output that is inert
// in this respect. A byte that is no UTF-8 is told as the replacement character.
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

// blank are letters, marks and signs of which nothing is seen. Those of Unicode's
// property Default_Ignorable_Code_Point that count as printed stand here one by one,
// so that a mistake in the product's list is not repeated.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, {0xffa0, 0xffa0, 1}},
	R32: []unicode.Range32{{0x1d159, 0x1d159, 1}},
}

// Commands are the parts of an output that a CI runner would obey if it came to a job
// log.
func Commands(output string) []string { return command.FindAllString(output, -1) }

// command is written otherwise than the product has it. GitHub Actions takes the end
// of a line from the process, and blanks from what Unicode calls white space.
var command = regexp.MustCompile(`(?:^|[\n\r\x{85}\x{2028}\x{2029}])[\s\x{85}\p{Z}]*::[^\n]?|(?i:##[a-z]*\[)`)
