package token

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// A password of CodeCommit is signed for the moment, the host and the repository; the
// server works the signature out by itself.
func TestAWS(t *testing.T) {
	w := newWorld(t)
	const url = "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools"
	issuer, err := AWS(w.getenv, w.clock.Now, url)
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Issue(t.Context(), w.repository(url).Ask, w.clock.Now())
	if err != nil {
		t.Fatalf("%v; %s", err, source.Hint(err))
	}
	for range 3 { // a password is good for 15 minutes, the keys for an hour
		if status := w.opens(token, url); status != http.StatusOK {
			t.Errorf("the repository answers with %d", status)
		}
		w.clock.pass(19 * time.Minute)
	}
	w.clock.pass(time.Hour)
	if status := w.opens(token, url); status != http.StatusUnauthorized {
		t.Errorf("with keys that have expired, the repository answers with %d", status)
	}
}

func TestTroubleWithAWS(t *testing.T) {
	w := newWorld(t)
	secret := secrets.Of("server")
	code := func(status int, code string) http.HandlerFunc {
		return says(status, map[string]string{"Date": w.clock.Now().Format(http.TimeFormat)}, fmt.Sprintf(`<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`, code, secret))
	}
	keys := func(id, key, session, expires string) http.HandlerFunc {
		return says(http.StatusOK, nil, fmt.Sprintf(`<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, id, key, session, expires))
	}
	for name, c := range map[string]struct {
		wrong      func()
		fault      http.HandlerFunc
		kind       error
		says, hint string
	}{
		"another role":             {wrong: func() { w.AWS.Role = "other" }, kind: source.ErrToken, says: "sts.eu-central-1.amazonaws.com issues no keys (AccessDenied): the ServiceAccount of the controller may not assume the role", hint: "trust policy"},
		"another cluster":          {wrong: func() { w.AWS.Assertion = "other" }, kind: source.ErrToken, says: "(InvalidIdentityToken)", hint: "identity provider of IAM"},
		"projected token is past":  {fault: code(400, "ExpiredTokenException"), kind: source.ErrToken, says: "projected token of the ServiceAccount has expired", hint: "kubelet renews"},
		"by our clock":             {fault: says(400, map[string]string{"Date": w.clock.Now().Add(time.Hour).Format(http.TimeFormat)}, `<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>`), kind: source.ErrToken, says: "which is 1h0m0s behind its own", hint: "clock"},
		"region is off":            {fault: code(403, "RegionDisabledException"), kind: source.ErrToken, says: "not activated", hint: "settings of the account"},
		"throttled":                {fault: code(400, "Throttling"), kind: source.ErrToken, says: "(Throttling): it has had too many requests"},
		"STS cannot read our keys": {fault: code(400, "IDPCommunicationError"), kind: source.ErrToken, says: "(IDPCommunicationError)", hint: "reached from the internet"},
		"a code that is unknown":   {fault: code(400, secret), kind: source.ErrToken, says: "HTTP status 400", hint: "trust policy"},
		"keys that are past":       {fault: keys("ASIA", secret, secret, "2020-01-01T00:00:00Z"), kind: source.ErrServer, says: "no token that can be used"},
		"an ID with a colon":       {fault: keys("ASIA:x", secret, secret, "2026-11-25T02:00:00Z"), kind: source.ErrServer, says: "no token that can be used"},
		"a session of two lines":   {fault: keys("ASIA", secret, secret+"\nx", "2026-11-25T02:00:00Z"), kind: source.ErrServer, says: "no token that can be used"},
		"no secret":                {fault: keys("ASIA", "", secret, "2026-11-25T02:00:00Z"), kind: source.ErrServer, says: "no token that can be used"},
		"nested without end":       {fault: says(200, nil, "<!DOCTYPE a [<!ENTITY b \""+secret+"\">]><a>&b;</a>"), kind: source.ErrServer, says: "no token that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{Server: w.Server, t: t, clock: w.clock, proxy: w.proxy, env: w.env}
			before := w.AWS
			defer w.Change(func() { w.AWS, w.Fault = before, nil })
			w.Change(func() {
				if w.Fault = c.fault; c.wrong != nil {
					c.wrong()
				}
			})
			const url = "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools"
			issuer, err := AWS(w.getenv, w.clock.Now, url)
			if err != nil {
				t.Fatal(err)
			}
			_, err = issuer.Issue(t.Context(), w.repository(url).Ask, w.clock.Now())
			w.wantRefusal(err, c.kind, c.says, c.hint)
		})
	}
}
