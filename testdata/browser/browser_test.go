package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEverythingIsNoticed shows that a test detects what a page must not do:
// otherwise a page that seems to do nothing proves nothing.
func TestEverythingIsNoticed(t *testing.T) {
	b := Start(t)
	tests := map[string]struct {
		reason string
		html   string
		of     func(Done) []string
		want   string
	}{
		"script": {"a script that does nothing else", `<script>1+1</script>`,
			func(d Done) []string { return d.Scripts }, address},
		"dialog": {"what hostile content does first", `<script>alert("hello")</script>`,
			func(d Done) []string { return d.Dialogs }, "hello"},
		"handler": {"a handler runs without a script element", `<img src=x onerror="alert('from a handler')">`,
			func(d Done) []string { return d.Dialogs }, "from a handler"},
		"image": {"an image reports to its server that the page was read", `<img src="https://far.invalid/seen">`,
			func(d Done) []string { return d.Requests }, "https://far.invalid/seen"},
		"style": {"a style can ask for something, too", `<style>body{background:url(https://far.invalid/style)}</style>text`,
			func(d Done) []string { return d.Requests }, "https://far.invalid/style"},
		"refresh": {"a page can lead its reader away", `<meta http-equiv="refresh" content="0;url=https://far.invalid/away">`,
			func(d Done) []string { return d.Requests }, "https://far.invalid/away"},
		"policy": {"what its policy forbids is complained of",
			`<meta http-equiv="Content-Security-Policy" content="default-src 'none'"><script>alert(1)</script>`,
			func(d Done) []string { return d.Complaints }, "Content Security Policy"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := b.Open(t, "<!DOCTYPE html>"+test.html, View{})
			contains := func(got string) bool { return strings.Contains(got, test.want) }
			for deadline := time.Now().Add(answerTimeout); !slices.ContainsFunc(test.of(p.Done()), contains); time.Sleep(pollInterval) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: want %q, got %+v", test.reason, test.want, p.Done())
				}
			}
		})
	}
}

func TestAPageThatIsOnlyThereDoesNothing(t *testing.T) {
	p := Start(t).Open(t, `<!DOCTYPE html><title>still</title><p>text`, View{})
	var text string
	p.Evaluate(t, "document.body.innerText", &text)
	if text != "text" {
		t.Errorf("the page says %q, want text", text)
	}
	if got := fmt.Sprint(p.Done()); got != fmt.Sprint(Done{}) {
		t.Errorf("a page without anything has done something: %+v", p.Done())
	}
}
