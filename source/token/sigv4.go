package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// sigV4 signs as AWS has it, version 4:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
type sigV4 struct{ secret, region, service string }

// gitPassword is the password for a repository of CodeCommit: the time and a signature
// of the host and of the path, with GIT as the method, as the credential helper of the
// AWS CLI makes it. The time is signed without its Z.
func (s *sigV4) gitPassword(now time.Time, host, path string) string {
	at := now.UTC().Format("20060102T150405")
	canonical := "GIT\n" + path + "\n\nhost:" + host + "\n\nhost\n"
	return at + "Z" + s.sign(at, canonical)
}

// sign signs a canonical request at a time such as 20060102T150405.
func (s *sigV4) sign(at, canonical string) string {
	hash := sha256.Sum256([]byte(canonical))
	scope := at[:8] + "/" + s.region + "/" + s.service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	return hex.EncodeToString(keyed(s.key(at[:8]), text))
}

// key is derived for a day, such as 20060102.
func (s *sigV4) key(day string) []byte {
	key := []byte("AWS4" + s.secret)
	for _, text := range []string{day, s.region, s.service, "aws4_request"} {
		key = keyed(key, text)
	}
	return key
}

func keyed(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
