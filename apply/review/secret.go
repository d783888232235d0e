package review

import (
	"regexp"
	"strings"
)

// secretKey is the last part of the name of a key that says its value is a secret.
// A part begins after a separator, or with a capital letter after a small one.
var secretKey = regexp.MustCompile(`(?i:(?:^|[-_./])(?:password|passwd|passphrase|secret|token|credentials?|api[-_]?key|access[-_]?key|private[-_]?key))$|` +
	`[a-z0-9](?:Password|Passwd|Passphrase|Secret|Token|Credentials?|(?:Api|API|Access|Private)Key)$`)

// secretValue is what some well-known credentials look like.
var secretValue = regexp.MustCompile(strings.Join([]string{
	`\bgh[opusr]_[A-Za-z0-9]{20,}`,                                   // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20,}`,                                 // GitHub
	`\bglpat-[A-Za-z0-9_-]{16,}`,                                     // GitLab
	`\b(AKIA|ASIA)[A-Z0-9]{16}\b`,                                    // AWS
	`\bAIza[A-Za-z0-9_-]{30,}`,                                       // Google
	`\bxox[abprs]-[A-Za-z0-9-]{10,}`,                                 // Slack
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]{4,})`, // JSON web tokens, those of service accounts too
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))`,
	`://[^/\s:@]+:[^/\s@]+@`, // a password in a URL
}, "|"))

func looksSecret(key, value string) bool {
	name, _, _ := strings.Cut(key, ":") // the effect of a taint
	return !plainlyNone(value) && (secretKey.MatchString(name) || secretValue.MatchString(value))
}

// plainlyNone tells that a value is no secret whatever its key says: it is empty, a
// switch, or masked already.
func plainlyNone(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "null":
		return true
	}
	return strings.HasPrefix(value, masked)
}

// withoutCredentials is a text without what looks like a credential of a well-known
// kind. Of an address the rest is kept.
func withoutCredentials(text string) string {
	return secretValue.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "://") {
			return "://" + masked + "@"
		}
		return masked
	})
}

// assignment is the name in password: topsecret, token=abc or "apiKey":"abc", with
// what stands between it and the value.
var assignment = regexp.MustCompile(`([A-Za-z0-9_./-]+)(\\*["']?[ \t]*[:=][ \t]*(?:[|>][-+]?[ \t]*\n\s*)?)`)

// The value: in quotes, which may be those of JSON within JSON, or up to what parts
// a list.
var (
	assignedValue = regexp.MustCompile(`^(?:\\+"(?s:.*?)\\+"|"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&"'})\]]+)`)
	lineStart     = regexp.MustCompile(`^[ \t]*(?:- +)?(?:export +)?["']?$`)
	furtherColon  = regexp.MustCompile(`[,;&]\s*["']?[A-Za-z0-9_./-]+["']?\s*[:=]`)
	furtherEquals = regexp.MustCompile(`[,;&\s]["']?[A-Za-z0-9_./-]+["']?\s*[:=]`)
)

// replaceAssigned replaces the secrets that a longer text assigns to names: lines of
// a file, pairs of a list, fields of JSON.
func replaceAssigned(text string, replace func(secret string) string) string {
	if !strings.ContainsAny(text, ":=") {
		return text
	}
	var written strings.Builder
	rest := 0 // what has not been written begins here
	for at := 0; ; {
		found := assignment.FindStringSubmatchIndex(text[at:])
		if found == nil {
			break
		}
		name, nameEnd, begin := at+found[2], at+found[3], at+found[1]
		at = begin // what is assigned to another name may have assignments in it
		if !secretKey.MatchString(text[name:nameEnd]) {
			continue
		}
		value := assignedTo(text, name, nameEnd, begin)
		bare := strings.Trim(value, `\"'`)
		if plainlyNone(bare) {
			continue
		}
		at += len(value)
		open := strings.Index(value, bare)
		written.WriteString(text[rest : begin+open])
		written.WriteString(replace(bare))
		rest = begin + open + len(bare)
	}
	written.WriteString(text[rest:])
	return written.String()
}

// assignedTo is the value that begins at a place of the text. One without quotes
// that has the line for itself goes to the end of that.
func assignedTo(text string, name, nameEnd, begin int) string {
	value := assignedValue.FindString(text[begin:])
	line := text[strings.LastIndex(text[:name], "\n")+1 : name]
	if value == "" || strings.ContainsAny(value[:1], `\"'`) || !lineStart.MatchString(line) {
		return value
	}
	line, _, _ = strings.Cut(text[begin:], "\n")
	further := furtherColon
	if strings.Contains(text[nameEnd:begin], "=") {
		further = furtherEquals
	}
	if further.MatchString(line) {
		return value
	}
	return strings.TrimSpace(line)
}
