package complete

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompletionArgs(t *testing.T) {
	for _, test := range []struct {
		reason     string
		program    string
		args, want []string
	}{
		{"a command", "nodepools", []string{"diff", "pools"}, nil},
		{"nothing at all", "nodepools", nil, nil},
		{"the script of a shell", "nodepools", []string{"__complete", "diff", ""}, []string{"__complete", "diff", ""}},
		{"a shell without descriptions", "nodepools", []string{"__completeNoDesc", ""}, []string{"__completeNoDesc", ""}},
		{"kubectl", "kubectl_complete-nodepools", []string{"diff", ""}, []string{"__complete", "diff", ""}},
		{"somebody who tries it", "kubectl_complete-nodepools", nil, []string{"__complete", ""}},
		{"kubectl, of a plugin that is asked so itself", "kubectl_complete-nodepools", []string{"__complete", ""}, []string{"__complete", "__complete", ""}},
	} {
		if diff := cmp.Diff(test.want, Args(test.program, test.args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
