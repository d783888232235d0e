package logging

import (
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// From level 6 on the client logs requests with their headers and bodies. No
// level of the log reaches there.
func TestLogLevelsShowNoRequests(t *testing.T) {
	for _, level := range Levels() {
		if New(io.Discard, level, "text").V(6).Enabled() {
			t.Errorf("level %s shows requests", level)
		}
	}
	if klog.V(6).Enabled() {
		t.Error("klog shows requests by itself")
	}
}

func TestLogger(t *testing.T) {
	for _, test := range []struct {
		reason, level, format string
		want                  []string
	}{
		{"text at info", "info", "text", []string{"level=info msg=reported n=1", "level=error msg=failed err=why"}},
		{"json at info", "info", "json", []string{`"level":"info","msg":"reported","n":1}`, `"level":"error","msg":"failed","err":"why"}`}},
		{"everything", "debug", "text", []string{"level=info msg=reported n=1", "level=debug msg=detail", "level=error msg=failed err=why"}},
		{"errors alone", "error", "text", []string{"level=error msg=failed err=why"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var written strings.Builder
			logger := New(&written, test.level, test.format)
			logger.Info("reported", "n", 1)
			logger.V(5).Info("detail")
			logger.Error(errors.New("why"), "failed")
			logger.WithName("manager").Error(errors.New("leader election lost"), "error received after stop sequence was engaged")
			lines := strings.Split(strings.TrimSpace(written.String()), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(test.want), written.String())
			}
			for i, want := range test.want {
				if !strings.HasSuffix(lines[i], want) {
					t.Errorf("line %q, want it to end with %q", lines[i], want)
				}
			}
		})
	}
}
