package redact

import (
	"strings"
)

var (
	// word matches a part of a name: it ends at a separator, or before a capital letter.
	word = compiled(`[A-Z]+[0-9]*(?:[^A-Za-z0-9]|$)|[A-Z]+[a-z]?[a-z0-9]*|[a-z0-9]+`)

	// secretWord matches the last word of the name of a secret.
	secretWord = compiled(`^(?:.*(?:passw(?:or)?d|passwort|passphrase|apikey|secretkey|accesskey|privatekey|sharedkey|accountkey|authkey)s?|` +
		`(?:db|my|root|admin|user|sudo|ssh|sa|pg|mysql|redis|bind|ldap|smtp|mail|client|app|shared|access|api|auth|oauth|bearer|refresh|session|jwt|hmac|webhook|bot|join|node|cluster|agent|bootstrap|deploy|service|id|git|github|gitlab|slack|vault|ci|csrf|signing|storage)?` +
		`(?:secret|token|pwd|passcode|pass|creds?)|` +
		`auth|authorization|credentials?|cookie|mnemonic|otp|psk|bearer|dockercfg|dockerconfigjson|htpasswd|netrc|pgpass)$`)

	// secretKeyOf matches the word before key in the name of a secret.
	secretKeyOf = compiled(`^(?:api|access|private|secret|client|tls|ssl|ssh|rsa|auth|account|shared|signing|sign|encryption|decryption|master|session|license|hmac|jwt|storage|deploy|host|ca|server|pgp|gpg|age|wireguard|service)$`)

	// privateFile matches names of files with a private key.
	privateFile = compiled(`(?i)(?:^|[._/-])(?:id_(?:rsa|dsa|ecdsa|ed25519)|ssh-?privatekey|[\w-]+\.key)$`)
)

// qualifiers may follow the word that makes a name that of a secret: client-key-data,
// password_hash, tokenOld.
var qualifiers = map[string]bool{
	"data": true, "value": true, "values": true, "b64": true, "base64": true, "string": true, "text": true, "plain": true, "plaintext": true, "raw": true,
	"old": true, "new": true, "previous": true, "current": true, "next": true, "json": true, "pem": true, "encoded": true, "encrypted": true,
	"prod": true, "production": true, "staging": true, "dev": true, "primary": true, "secondary": true, "header": true,
}

// secretName reports whether a name says that its value is a secret: its last word
// does, but for numbers and qualifiers after it.
func secretName(name string) bool {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	if !containsAny(strings.ToLower(name), nameKeywords) {
		return false
	}
	if privateFile().MatchString(name) {
		return true
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	words := word().FindAllString(name, -1)
	for i := range words {
		words[i] = strings.ToLower(strings.TrimFunc(words[i], notLetterOrDigit))
	}
	last := len(words) - 1
	hashed := false
	for ; last > 0; last-- {
		bare := strings.TrimRight(words[last], "0123456789")
		if bare == "hash" || bare == "digest" {
			hashed = true
			continue
		}
		if bare != "" && bare != "v" && !qualifiers[words[last]] && !qualifiers[bare] {
			break
		}
	}
	if last < 0 {
		return false
	}
	final := strings.TrimRight(words[last], "0123456789")
	if hashed { // that of a token or a configuration is no secret
		return strings.HasPrefix(final, "passw") || strings.HasSuffix(final, "password")
	}
	switch {
	case secretWord().MatchString(final):
		return true
	case last > 0 && (final == "key" || final == "keys" && words[last-1] == "api"):
		return secretKeyOf().MatchString(words[last-1])
	case last > 0 && (final == "word" || final == "phrase"): // passWord, pass-phrase
		return words[last-1] == "pass"
	}
	return false
}

// nameKeywords are in lower case; a name without any of them is not the name of a secret.
var nameKeywords = []string{"pass", "secret", "token", "pwd", "cred", "auth", "key", "cookie", "mnemonic", "otp", "psk", "bearer", "docker", "netrc", "id_"}

// maxName bounds how much of a name is read, in bytes.
const maxName = 512

func notLetterOrDigit(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}

var (
	noValue     = map[string]bool{"": true, "true": true, "false": true, "null": true, "~": true, "none": true, "{}": true, "[]": true}
	placeholder = compiled(`^(?:\*+|•+|\*{3} \((?:before|after)\)|\$\{[A-Z][A-Z0-9_]*\}|\$\([A-Z][A-Z0-9_]*\)|\{\{[^{}]*\}\}|(?i:\[?<?redacted>?\]?))$`)
	// authKind matches the values of a switch called auth.
	authKind = compiled(`^(?i:basic|digest|bearer|jwt|oidc|oauth2?|ldaps?|saml|m?tls|x509|webhook|kerberos|iam|rbac|token|password|internal|external|enabled|disabled|required|optional|anonymous|always|never|on|off|yes|no|[0-9])$`)
)

// none reports whether a value with the name of a secret is no secret: it is
// empty, a switch, a placeholder, or masked already.
func none(name, value string) bool {
	value = strings.Trim(value, " \t\r\n\"'\\,;")
	if noValue[strings.ToLower(value)] || placeholder().MatchString(value) {
		return true
	}
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, "auth") && authKind().MatchString(value)
}
