package inventory

import "bytes"

// width bounds the length of a line that has a whole list or map.
const width = 140

// layOut breaks JSON text into lines as a person would: a short value is on one
// line, a long one has a line per element, so that a change of an element is a
// change of a line or two.
func layOut(compact []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(compact) + len(compact)/4)
	l := layout{out: &out}
	l.value(compact, 0)
	out.WriteByte('\n')
	return out.Bytes()
}

type layout struct{ out *bytes.Buffer }

func (l layout) value(text []byte, depth int) {
	if text[0] != '{' && text[0] != '[' || len(text)+depth <= width {
		l.line(text)
		return
	}
	l.out.WriteByte(text[0])
	for i, element := range elements(text) {
		if i > 0 {
			l.out.WriteByte(',')
		}
		l.out.WriteByte('\n')
		for range depth + 1 {
			l.out.WriteByte(' ')
		}
		if text[0] == '{' {
			end := stringEnd(element)
			l.out.Write(element[:end])
			l.out.WriteString(": ")
			element = element[end+1:]
		}
		l.value(element, depth+1)
	}
	l.out.WriteByte('\n')
	for range depth {
		l.out.WriteByte(' ')
	}
	l.out.WriteByte(text[len(text)-1])
}

// line writes a value on one line, with blanks where a person would leave them.
func (l layout) line(text []byte) {
	for i := 0; i < len(text); {
		if text[i] == '"' {
			end := i + stringEnd(text[i:])
			l.out.Write(text[i:end])
			i = end
			continue
		}
		l.out.WriteByte(text[i])
		if text[i] == ',' || text[i] == ':' {
			l.out.WriteByte(' ')
		}
		i++
	}
}

// elements returns the elements of a list or a map, as text.
func elements(text []byte) [][]byte {
	var all [][]byte
	depth, start := 0, 1
	for i := 1; i < len(text); {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 || depth == 0 && text[i] == ',' {
			all = append(all, text[start:i])
			start = i + 1
		}
		i++
	}
	return all
}

// stringEnd returns the end of the string at the beginning of text.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
