package controller

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/secrets"
)

func wantNoSecret(t *testing.T, secret, text string) {
	t.Helper()
	if found := secrets.Find(text, secret); found != "" {
		t.Errorf("the secret is leaked, %s, in:\n%s", found, text)
	}
}

// A URL that carries a credential is refused by the API server, which does not
// repeat it, as its rules say that it is forbidden and not that it is invalid. What comes past the schema, the loop refuses, and tells nothing of
// it either.
func TestSecretsInURL(t *testing.T) {
	w := newGitWorld(t)
	for i, tc := range []struct {
		reason, url string
		past        bool // the schema cannot tell
	}{
		{"the classic", "https://user:%s@example.invalid/a", false},
		{"a token is the user", "https://%s@example.invalid/a", false},
		{"by http", "http://user:%s@example.invalid/a", false},
		{"by ssh", "ssh://git:%s@example.invalid/a", false},
		{"git's short form with a password", "git:%s@example.invalid:a", false},
		{"one slash is missing", "https:/user:%s@example.invalid/a", false},
		{"the scheme is missing", "user:%s@example.invalid/a", false},
		{"another scheme", "svn://user:%s@example.invalid/a", false},
		{"in the query", "https://example.invalid/a?private_token=%s", false},
		{"in the fragment", "https://example.invalid/a#%s", false},
		{"in a URL within the URL", "https://mirror.invalid/https://user:%s@example.invalid/a", false},
		{"a token in a URL within the URL", "https://mirror.invalid/https://%s@example.invalid/a", false},
		{"a slash in the password", "https://user:%s/x@example.invalid/a", true},
		{"the user of ssh, which may be a token", "ssh://%s@127.0.0.1:1/a", true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := w.in(t)
			secret, name := secrets.Of("url "+tc.reason), fmt.Sprintf("secret-%d", i)
			err := w.Create(t.Context(), &v1.NodePoolSource{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       v1.NodePoolSourceSpec{URL: fmt.Sprintf(tc.url, url.QueryEscape(secret)), Interval: metav1.Duration{Duration: time.Minute}},
			})
			if err != nil {
				wantNoSecret(t, secret, err.Error())
			}
			if (err == nil) != tc.past {
				t.Fatalf("refused by the schema: %v", err)
			}
			if !tc.past {
				return
			}
			w.sourceIs(name, "is reported", func(src *v1.NodePoolSource) error {
				for _, condition := range src.Status.Conditions {
					if condition.Type == v1.FetchedCondition && condition.Status == metav1.ConditionFalse {
						return nil
					}
				}
				return fmt.Errorf("conditions are %v", messages(src))
			})
			src, err := w.readSource(name)
			w.do(err)
			w.eventually("an event tells it", func() error {
				if len(w.eventsOf(src)) == 0 {
					return fmt.Errorf("none of %s", name)
				}
				return nil
			})
			wantNoSecret(t, secret, fmt.Sprint(src.Status, w.eventsOf(src)))
			wantNoSecret(t, secret, reachable(w.log.text()))
		})
	}
}

// tracing is what the client logs from level 6 on, answers with whole objects in
// them. --log-level=debug ends at 5, which a test of the command holds.
var tracing = regexp.MustCompile(`"level"=([6-9]|1[0-9]) `)

// reachable are the lines of a log that the program can be configured to write.
func reachable(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if !tracing.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
