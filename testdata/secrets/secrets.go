// Package secrets detects secrets that have leaked to where others can read them.
//
// [Of] makes one for each place where a credential can be configured or a
// server can return text, so that one which leaks identifies its origin. [Find]
// searches for it in what was logged, reported or recorded: the whole of it and
// each part, as it is and in the forms in which programs pass text on.
// [Forgery] searches for what else a server may smuggle into a text.
package secrets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// part is how many letters and digits of a secret are taken for more than
// chance. They need not be adjacent: between them may be a colour, a line break
// or a backslash.
const part = 8

// Of returns the secret of a place, the same in each run: 30 letters and digits
// and, between them, two characters that are written differently in a URL.
func Of(place string) string {
	sum := sha256.Sum256([]byte("secret of " + place))
	text := alphanumeric(base64.StdEncoding.EncodeToString(sum[:]))
	for len(text) < 30 {
		text += strconv.Itoa(len(text))
	}
	return text[:10] + "+" + text[10:20] + "=" + text[20:30]
}

// Find returns the form in which a text contains a part of a secret, or the
// empty string where it does not.
func Find(text, secret string) string {
	// Case does not count: who compares server texts often lowers them first.
	haystack, needle := strings.ToLower(alphanumeric(text)), strings.ToLower(alphanumeric(secret))
	if found := anyOf(haystack, windows(needle, part)); found != "" {
		return fmt.Sprintf("%q in clear", found)
	}
	if found := anyOf(haystack, windows(hex.EncodeToString([]byte(secret)), 2*part)); found != "" {
		return fmt.Sprintf("%q in hexadecimal", found)
	}
	if found := anyOf(alphanumeric(text), base64Forms(secret)); found != "" {
		return fmt.Sprintf("%q in base64", found)
	}
	if found := anyOf(text, decimalForms(secret)); found != "" {
		return fmt.Sprintf("%q as bytes", found)
	}
	return ""
}

// Forgery returns what is wrong with a text that is to be one plain line: a
// character that moves the cursor, colours a terminal, ends a line, is
// invisible, or changes the direction of the text around it. It is empty where
// nothing is wrong.
func Forgery(text string) string {
	for i, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("%U at byte %d of %s", r, i, strconv.QuoteToASCII(text))
		}
	}
	return ""
}

// Hostile is a secret in a text that would break out of the line it is put in.
func Hostile(secret string) string {
	return "\x1b[31m" + secret + "\x1b[0m\u202e\u009b2J\r\nlevel=error msg=forged " + secret
}

// windows are the parts of a text of one length.
func windows(text string, length int) []string {
	var all []string
	for i := 0; i+length <= len(text); i++ {
		all = append(all, text[i:i+length])
	}
	return all
}

// base64Forms returns the parts of a secret in base64, at any offset of the
// encoded text, and in either alphabet.
func base64Forms(secret string) []string {
	var forms []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		// The first and the last characters depend on the text around the secret.
		forms = append(forms, windows(alphanumeric(encoded[4:len(encoded)-2]), 12)...)
	}
	return forms
}

// decimalForms returns what %v prints for bytes.
func decimalForms(secret string) []string {
	var forms []string
	for _, window := range windows(secret, part) {
		forms = append(forms, strings.Trim(fmt.Sprint([]byte(window)), "[]"))
	}
	return forms
}

func anyOf(text string, parts []string) string {
	for _, each := range parts {
		if strings.Contains(text, each) {
			return each
		}
	}
	return ""
}

func alphanumeric(text string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, text)
}
