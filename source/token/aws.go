package token

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source"
)

// The variables that the webhook of EKS sets for IAM roles for service accounts:
// https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
const (
	awsRole = "AWS_ROLE_ARN"
	awsFile = "AWS_WEB_IDENTITY_TOKEN_FILE"

	awsWebhook = "the webhook of EKS sets it in pods whose ServiceAccount has the annotation eks.amazonaws.com/role-arn: annotate that of the controller, and restart its pods"
)

var (
	codeCommit = regexp.MustCompile(`^git-codecommit\.([a-z]{2,4}(?:-[a-z]+){1,3}-[0-9]{1,2})\.(amazonaws\.com(?:\.cn)?)$`)
	roleARN    = regexp.MustCompile(`^arn:[a-z-]{1,32}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$`)
)

// AWS issues passwords of CodeCommit to the IAM role of the controller: its projected
// token is exchanged at STS for keys, and these sign each request:
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
//
// They go to the CodeCommit of the region that the URL names, and the projected token
// goes to the STS of that region, and neither goes elsewhere. A secret key stays here.
func AWS(environment Environment, clock func() time.Time, repository string) (Issuer, error) {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "https" || codeCommit.FindStringSubmatch(u.Host) == nil {
		return nil, wrongHost("git-codecommit.<region>.amazonaws.com")
	}
	parts := codeCommit.FindStringSubmatch(u.Host)
	if strings.HasPrefix(parts[1], "cn-") != strings.HasSuffix(parts[2], ".cn") {
		return nil, wrongHost("git-codecommit.<region>.amazonaws.com, or .amazonaws.com.cn for regions of China")
	}
	values, err := environment.variables(awsWebhook, awsRole, awsFile)
	if err != nil {
		return nil, err
	}
	if !roleARN.MatchString(values[0]) {
		return nil, source.NewError(source.ErrCredential, "", awsRole+" in the environment of the controller is no ARN of a role").WithHint("correct the annotation eks.amazonaws.com/role-arn of its ServiceAccount")
	}
	a := &aws{role: values[0], host: u.Host, region: parts[1], sts: "sts." + parts[1] + "." + parts[2], clock: clock}
	a.assertion, err = projected(awsFile, values[1])
	return a, err
}

type aws struct {
	role, assertion   string
	host, region, sts string
	clock             func() time.Time
}

func (a *aws) Identity() Identity {
	return identity("aws", a.host, a.role, a.assertion)
}

// The answers of STS.
type (
	assumed struct {
		Credentials struct {
			ID      string    `xml:"AccessKeyId"`
			Secret  string    `xml:"SecretAccessKey"`
			Session string    `xml:"SessionToken"`
			Expires time.Time `xml:"Expiration"`
		} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	notAssumed struct {
		Code string `xml:"Error>Code"`
	}
)

func (a *aws) Issue(ctx context.Context, send Send, now time.Time) (*Token, error) {
	request, err := formRequest(ctx, "https://"+a.sts+"/", url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleSessionName": {"nodepools"},
		"RoleArn": {a.role}, "WebIdentityToken": {a.assertion},
	})
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/xml")
	answer, err := ask(send, request, now)
	if err != nil {
		return nil, err
	}
	if !answer.ok() {
		return nil, a.explain(answer, now)
	}
	var issued assumed
	err = xml.Unmarshal(answer.body, &issued)
	keys := issued.Credentials
	if err != nil || !usable(keys.ID) || strings.ContainsAny(keys.ID, ":%") || !usable(keys.Secret) || !usable(keys.Session) || !keys.Expires.After(now) {
		return nil, unusable(answer.server)
	}
	signer := &sigV4{secret: keys.Secret, region: a.region, service: "codecommit"}
	return &Token{issued: now, expires: bounded(keys.Expires, now), set: func(request *http.Request) {
		if request.URL.Scheme == "https" && request.URL.Host == a.host {
			request.SetBasicAuth(keys.ID+"%"+keys.Session, signer.gitPassword(a.clock(), a.host, repositoryPath(request.URL)))
		}
	}}, nil
}

// repositoryPath is that of the repository that a request of Git is about: it is signed,
// and not what the protocol has behind it.
func repositoryPath(u *url.URL) string {
	path := u.EscapedPath()
	for _, end := range []string{"/info/refs", "/git-upload-pack"} {
		path = strings.TrimSuffix(path, end)
	}
	return path
}

// explain says why there are no keys, by the code that STS has for it.
func (a *aws) explain(answer *answer, now time.Time) error {
	if busy := answer.busy(now); busy != nil {
		return busy
	}
	var said notAssumed
	if err := xml.Unmarshal(answer.body, &said); err != nil {
		said.Code = ""
	}
	with := func(text, hint string) *source.Error {
		return refused(fmt.Sprintf("%s issues no keys (%s): %s", answer.server, said.Code, text), hint)
	}
	switch said.Code {
	case "ExpiredTokenException", "ExpiredToken":
		if clock := answer.clock(); clock != nil {
			return clock
		}
		return with("the projected token of the ServiceAccount has expired", "see whether the kubelet renews the file of "+awsFile+", and correct the clock of the node")
	case "AccessDenied", "AccessDeniedException":
		return with("the ServiceAccount of the controller may not assume the role", "check the trust policy of the role of "+awsRole+": its condition has to name system:serviceaccount:<namespace>:nodepools and the audience sts.amazonaws.com")
	case "InvalidIdentityToken":
		return with("the token of the cluster is not accepted", "make the issuer of the cluster an identity provider of IAM, in the account of the role, with the audience sts.amazonaws.com")
	case "IDPRejectedClaim":
		return with("the token of the cluster is rejected", "check the identity provider of IAM for the cluster")
	case "IDPCommunicationError":
		return with("STS cannot read the keys of the cluster's issuer", "it is tried again; see whether the issuer of the cluster can be reached from the internet")
	case "RegionDisabledException":
		return with("STS is not activated in this region", "activate it in the settings of the account")
	case "ValidationError", "ValidationException":
		return with("the role or the token has a form that is not accepted", "correct the annotation eks.amazonaws.com/role-arn of the ServiceAccount")
	case "Throttling", "ThrottlingException":
		return &busyError{after: 5 * time.Second, err: with("it has had too many requests", "nothing to do where it passes; else see what else asks with this identity")}
	}
	return answer.refusal("check the role of " + awsRole + " and its trust policy")
}
