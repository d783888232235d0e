package token

import (
	"encoding/hex"
	"testing"
	"time"
)

// The key and the signature are those of the example that AWS has published for version
// 4 of its signatures.
func TestSignatureOfThePublishedExample(t *testing.T) {
	s := &sigV4{secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "iam"}
	if key := hex.EncodeToString(s.key("20150830")); key != "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9" {
		t.Errorf("the key is %s", key)
	}
	canonical := "GET\n/\nAction=ListUsers&Version=2010-05-08\ncontent-type:application/x-www-form-urlencoded; charset=utf-8\nhost:iam.amazonaws.com\nx-amz-date:20150830T123600Z\n\ncontent-type;host;x-amz-date\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if signature := s.sign("20150830T123600Z", canonical); signature != "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" {
		t.Errorf("the signature is %s", signature)
	}
}

// The passwords are those that the credential helper of the AWS CLI (2.9.19) makes at
// that moment, of these keys.
func TestPasswordIsThatOfTheAWSCLI(t *testing.T) {
	at := time.Date(2026, 11, 25, 2, 2, 3, 0, time.FixedZone("", 3600))
	for _, c := range []struct{ host, region, path, want string }{
		{"git-codecommit.us-east-1.amazonaws.com", "us-east-1", "/v1/repos/pools", "20261125T010203Z3165cc7d6dba51f300483a19720fbada7372f4f267dba4ed5cf160088139750e"},
		{"git-codecommit.cn-north-1.amazonaws.com.cn", "cn-north-1", "/v1/repos/pools", "20261125T010203Zf648aadc8765687cd2927ff3842712b5d311c873c972a043bc84e0847cb2dc9a"},
		{"git-codecommit.eu-central-1.amazonaws.com", "eu-central-1", "/v1/repos/node-pools.v2", "20261125T010203Zfe09d71c31671f95f60671628853eec9a770f17fbe2f96e9db1e53c6f7c22754"},
	} {
		s := &sigV4{secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: c.region, service: "codecommit"}
		if got := s.gitPassword(at, c.host, c.path); got != c.want {
			t.Errorf("%s: %s, want %s", c.host, got, c.want)
		}
	}
}
