package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// shape is a pattern of secrets that does not depend on a name.
type shape struct {
	// keywords are in lower case; a text without any of them is not matched.
	keywords []string
	pattern  *regexp.Regexp
	// holds decides on a match of the pattern; nil accepts every match.
	holds func(match []string) bool
}

// shapes are beginnings and forms of tokens. They require little: a truncated token is a
// secret, too.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{[]string{"-----begin", "private key", "putty-user-key"}, regexp.MustCompile(
			`-{3,}BEGIN (?:[A-Z0-9 ]*PRIVATE KEY|PGP (?:MESSAGE|PRIVATE KEY BLOCK|SECRET KEY BLOCK)|AGE ENCRYPTED FILE|[A-Z0-9 ]*SECRET[A-Z0-9 ]*)(?s:.*?(?:-{3,}END [A-Z0-9 ]*-{3,}|$))|(?i:PuTTY-User-Key-File(?s:.*))`), nil},
		{[]string{"gh", "github_pat_"}, regexp.MustCompile(`gh[opusr]_[A-Za-z0-9]{10,}|github_pat_[A-Za-z0-9_]{10,}`), nil},
		{[]string{"gl"}, regexp.MustCompile(`\bgl(?:pat|rt|rtr|dt|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_.-]{10,}`), nil},
		{[]string{"akia", "asia", "abia", "acca"}, regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`), nil},
		{[]string{"aiza", "ya29.", "gocspx-"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{10,}|\bGOCSPX-[A-Za-z0-9_-]{10,}`), nil},
		{[]string{"xox", "xapp-", "hooks.slack.com/", "webhooks/"}, regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}|hooks\.slack\.com/[a-z]+/[A-Za-z0-9/]{12,}|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}`), nil},
		{[]string{"sk_", "rk_", "pk_", "whsec_", "sk-"}, regexp.MustCompile(`\b(?:[sr]k_(?:live|test|prod)_|whsec_)[A-Za-z0-9+/=]{8,}|\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{10,}`), nil},
		{[]string{"npm_", "pypi-", "hvs.", "hvb.", "hvr.", "age-", "dckr_", "tskey-", "hf_", "nvapi-", "figd_", "atatt3", "pmak-", "dapi", "sbp_", "dop_v1_", "doo_v1_", "dor_v1_"}, regexp.MustCompile(
			`\bnpm_[A-Za-z0-9]{16,}|\bpypi-[A-Za-z0-9]{10,}[A-Za-z0-9_-]*|\bhv[sbr]\.[A-Za-z0-9_-]{10,}|(?i:\bAGE-(?:SECRET-KEY|PLUGIN)-[A-Z0-9-]{10,})|\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{10,}|` +
				`\btskey-[A-Za-z0-9-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bnvapi-[A-Za-z0-9_-]{20,}|\bfigd_[A-Za-z0-9_-]{16,}|\bATATT3[A-Za-z0-9_=-]{10,}|\bPMAK-[A-Za-z0-9-]{10,}|\bdapi[a-f0-9]{32}|\bsbp_[a-f0-9]{20,}|\bdo[opr]_v1_[a-f0-9]{16,}`), nil},
		{[]string{"sg.", "shp", "sq0", "glsa_", "glc_", "lin_api_", "ntn_", "rubygems_", "pscale_", "sntry", "ops_", "key-", "dp."}, regexp.MustCompile(
			`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}|\bsq0[a-z]{3}-[\w-]{16,}|\bgl(?:sa|c)_[A-Za-z0-9+/=_]{16,}|\blin_api_[A-Za-z0-9]{16,}|\bntn_[A-Za-z0-9]{20,}|` +
				`\brubygems_[a-f0-9]{16,}|\bpscale_(?:tkn|oauth|pw)_[\w=.-]{10,}|\bsntry[su]_[A-Za-z0-9+/=_-]{16,}|\bops_eyJ[A-Za-z0-9+/=]{16,}|\bkey-[a-f0-9]{32}\b|\bdp\.[a-z]+\.[A-Za-z0-9]{20,}`), nil},
		{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`), nil}, // JSON web tokens, those of service accounts too
		{[]string{"authorization"}, regexp.MustCompile(`(?i)authorization["'\\]*\s*[:=]\s*["'\\]*([^\s"'\\,}\]][^"'\r\n]*)`), func(m []string) bool { return !none("auth", m[1]) }},
		{[]string{"bearer"}, regexp.MustCompile(`(?i)\bbearer[ \t:]+([A-Za-z0-9._~+/=-]{8,})`), func(m []string) bool {
			return len(m[1]) >= 20 || strings.ContainsAny(m[1], "0123456789")
		}},
		{[]string{"basic"}, regexp.MustCompile(`(?i)\bbasic[ \t]+([A-Za-z0-9+/_-]{4,}={0,2})`), func(m []string) bool { return strings.Contains(decoded(m[1]), ":") }},
		{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*)://([^\s/?#"'<>@]*)@`), userInfo},
		{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*)://([^\s/?#"'<>@:]*:[^\s"'<>@]+)@`), userInfo},
		{[]string{"@"}, regexp.MustCompile(`(?:^|[\s"'=,(])[\w.%+-]+:[^\s@/:"',]+@(?:(?:tcp|udp|unix)\(|[\w.-]+:[0-9]{2,5}\b)`), nil}, // the source of a database
		{[]string{"sig"}, regexp.MustCompile(`(?i)(?:\b|u0026)(?:sig|x-(?:amz|goog)-signature)=[A-Za-z0-9%/+=_-]{16,}`), nil},
		{[]string{"accountkey", "sharedaccess"}, regexp.MustCompile(`(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)\s*=\s*[^\s;"']{8,}`), nil},
		{[]string{"$"}, regexp.MustCompile(`\$(?:2[abxy]|5|6|y|apr1|argon2(?:id?|d))\$[^\s"']{8,}`), nil}, // hashes of passwords
		{[]string{"k10"}, regexp.MustCompile(`\bK10[a-f0-9]{32,}(?:::[^\s"']*)?`), nil},                   // how nodes join k3s
		{[]string{"."}, regexp.MustCompile(`(?:^|[\s"'=:])([a-z0-9]{6})\.([a-z0-9]{16})(?:$|[\s"',\\])`), func(m []string) bool { // how nodes join by kubeadm
			return strings.ContainsAny(m[1], "0123456789") && strings.ContainsAny(m[2], "0123456789")
		}},
		{[]string{"-u", "--user"}, regexp.MustCompile(`(?:^|\s)(?:-u|--user|--proxy-user|-U)[ =]?["']?([\w.@-]*):([^\s"']+)`), nil}, // curl
		{[]string{"mysql", "sshpass", "mariadb"}, regexp.MustCompile(`\b(?:mysql\w*|mariadb\w*|sshpass)\b.*\s-p ?[^\s-]\S*`), nil},
	}
})

// userInfo reports whether the part before the @ of a URL is more than a user name, such as that of ssh://git@host.
func userInfo(match []string) bool {
	scheme, user := strings.ToLower(match[1]), match[2]
	name, password, found := strings.Cut(user, ":")
	switch {
	case user == "":
		return false
	case found && portThenPath().MatchString(password): // https://host:443/@user
		return false
	case found:
		return !none("password", password)
	case strings.HasPrefix(scheme, "http"), strings.HasPrefix(scheme, "git+http"):
		return !none("password", name) // a token, as some servers accept it
	}
	return len(name) >= 16 && strings.ContainsAny(name, "0123456789")
}

var portThenPath = compiled(`^[0-9]{1,5}/`)

// decoded returns the text that is encoded in base64, in any alphabet, or
// nothing where it is no text.
func decoded(text string) string {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(data) {
		return ""
	}
	for _, b := range data {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
			return ""
		}
	}
	return string(data)
}

// in reports whether a text, which is also given in lower case, has a secret of this shape.
func (s *shape) in(text, lower string) bool {
	if !containsAny(lower, s.keywords) {
		return false
	}
	if s.holds == nil {
		return s.pattern.MatchString(text)
	}
	return slices.ContainsFunc(s.pattern.FindAllStringSubmatch(text, -1), s.holds)
}

func containsAny(text string, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(keyword string) bool { return strings.Contains(text, keyword) })
}
