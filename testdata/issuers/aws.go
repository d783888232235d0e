package issuers

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// AWSIdentity is an IAM role, and the token of a ServiceAccount that may assume it.
type AWSIdentity struct{ Role, Assertion string }

// refuseSTS answers as STS does.
func refuseSTS(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>1</RequestId></ErrorResponse>`, code, message)
}

// serveSTS gives keys for a token of a ServiceAccount. The lock is held.
func (s *Server) serveSTS(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost, r.URL.Path != "/", r.PostFormValue("Action") != "AssumeRoleWithWebIdentity", r.PostFormValue("Version") != "2011-06-15", r.PostFormValue("RoleSessionName") == "":
		refuseSTS(w, http.StatusBadRequest, "ValidationError", "not a request that is known")
	case r.PostFormValue("RoleArn") != s.AWS.Role:
		refuseSTS(w, http.StatusForbidden, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
	case r.PostFormValue("WebIdentityToken") != s.AWS.Assertion:
		refuseSTS(w, http.StatusBadRequest, "InvalidIdentityToken", "no provider for "+r.PostFormValue("WebIdentityToken"))
	default:
		secret := "wJalr/+" + random()
		session, expires := s.keep("IQoJb3/+=", "", secret)
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, secret, session, expires.UTC().Format(time.RFC3339Nano))
	}
}

// takesSignature verifies the signature of a request for a repository. The lock is held.
func (s *Server) takesSignature(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	id, session, found := strings.Cut(user, "%")
	token := s.known(session)
	if !ok || !found || id != "ASIAEXAMPLE" || token == nil || len(password) != len("20060102T150405Z")+2*sha256.Size {
		return false
	}
	at, signature := password[:15], password[16:]
	if signed, err := time.Parse("20060102T150405", at); err != nil || password[15] != 'Z' || s.Now().Sub(signed).Abs() > 15*time.Minute {
		return false
	}
	path, _, _ := strings.Cut(r.URL.Path, "/info/refs")
	path, _, _ = strings.Cut(path, "/git-upload-pack")
	host, _, _ := strings.Cut(r.Host, ":")
	return signature == codeCommitSignature(token.secret, Region, at, host, path)
}

// codeCommitSignature is worked out step by step, as the documentation of AWS has it.
func codeCommitSignature(secret, region, at, host, path string) string {
	mac := func(key []byte, message string) []byte {
		h := hmac.New(sha256.New, key)
		fmt.Fprint(h, message)
		return h.Sum(nil)
	}
	day := at[:8]
	dateKey := mac([]byte("AWS4"+secret), day)
	regionKey := mac(dateKey, region)
	serviceKey := mac(regionKey, "codecommit")
	signingKey := mac(serviceKey, "aws4_request")
	canonicalRequest := strings.Join([]string{"GIT", path, "", "host:" + host, "", "host", ""}, "\n")
	stringToSign := strings.Join([]string{
		"AWS4-HMAC-SHA256", at, strings.Join([]string{day, region, "codecommit", "aws4_request"}, "/"),
		fmt.Sprintf("%x", sha256.Sum256([]byte(canonicalRequest))),
	}, "\n")
	return fmt.Sprintf("%x", mac(signingKey, stringToSign))
}
