package webhook

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
)

// gitLabToken is the header by which GitLab sends the token itself.
const gitLabToken = "X-Gitlab-Token"

// algorithms are those of signatures. SHA-1, which GitHub and others still send beside
// a better one, counts for nothing.
var algorithms = map[string]func() hash.Hash{
	"sha256": sha256.New,
	"sha384": sha512.New384,
	"sha512": sha512.New,
}

// forms are the headers that carry a signature. Those without an algorithm of their own
// name it before the signature, as in sha256=<hex>.
var forms = []struct{ header, algorithm string }{
	{"X-Hub-Signature-256", ""},       // GitHub
	{"X-Hub-Signature", ""},           // Bitbucket, where it names SHA-256
	{"X-Gitea-Signature", "sha256"},   // Gitea and Forgejo
	{"X-Forgejo-Signature", "sha256"}, // Forgejo
	{"X-Gogs-Signature", "sha256"},    // Gogs
	{"X-Signature", ""},               // whatever else can sign, such as a script
}

// signature is what a request claims its body to have.
type signature struct {
	algorithm string
	sum       []byte
}

// signaturesOf returns the signatures of a request, and whether there are headers for
// some that cannot be read as one. A header that is there twice is ambiguous, and no
// server sends one.
func signaturesOf(header http.Header) (signatures []signature, malformed bool) {
	for _, form := range forms {
		values := header.Values(form.header)
		if len(values) == 0 {
			continue
		}
		s, ok := parseSignature(form.algorithm, values[0])
		if !ok || len(values) > 1 {
			malformed = true
			continue
		}
		signatures = append(signatures, s)
	}
	return signatures, malformed
}

func parseSignature(algorithm, value string) (signature, bool) {
	if algorithm == "" {
		var found bool
		if algorithm, value, found = strings.Cut(value, "="); !found {
			return signature{}, false
		}
	}
	newHash, known := algorithms[algorithm]
	if !known || len(value) != hex.EncodedLen(newHash().Size()) {
		return signature{}, false
	}
	sum, err := hex.DecodeString(value)
	return signature{algorithm, sum}, err == nil
}
