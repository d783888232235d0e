package complete

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// Whatever a cluster, a kubeconfig file or a clone of somebody else calls its things,
// what is proposed means itself to every shell.
func TestProposalsArePlainNames(t *testing.T) {
	hostile := []string{
		"$(reboot)", "`reboot`", "a;reboot", "a|b", "a&b", "a b", "a'b", `a"b`, `a\b`, "a>b", "a<b", "a*", "a?", "[a]", "{a,b}", "(a)", "a#b", "!a", "^a",
		"-rf", "--kubeconfig=x", "~root", "=ls", "%1", "@a", "a\nb", "a\rb", "", "\tdescription", "a$b", "a%b", "a\t\x1b[2J", "a\tb\tc", "a\t$(reboot)",
	}
	for _, each := range hostiletexts.Strings() {
		if len(hostiletexts.Hidden(each.Text)) > 0 || len(hostiletexts.Commands(each.Text)) > 0 {
			hostile = append(hostile, each.Text)
		}
	}
	for _, name := range hostile {
		if got := plainProposals(Named([]string{name}), ""); len(got) > 0 {
			t.Errorf("%q is proposed", name)
		}
	}
	for _, name := range []string{"arn:aws:eks:eu-west-1:123:cluster/prod", "gpu-1.example.com", "größe", "refs/heads/main", "v1.2.3-rc.1+a", "user@staging", "a~1"} {
		if got := plainProposals(Named([]string{name}), ""); len(got) != 1 {
			t.Errorf("%q is not proposed", name)
		}
	}
}

// What waits for somebody else, and knows no context, is given up: a credential plugin
// that hangs, or a file that nobody writes.
func TestCompletionIsBounded(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	command := &cobra.Command{}
	ctx, cancel := context.WithCancel(t.Context())
	command.SetContext(ctx)
	bounded := false
	waiting := Found(func(ctx context.Context, _ []string, _ string) []Proposal {
		_, bounded = ctx.Deadline()
		cancel()
		<-release
		return []Proposal{{"late", ""}}
	})
	if names, directive := waiting(command, nil, ""); len(names) > 0 || directive != cobra.ShellCompDirectiveNoFileComp || !bounded {
		t.Errorf("proposed: %q, %d, with a deadline: %t", names, directive, bounded)
	}
}
