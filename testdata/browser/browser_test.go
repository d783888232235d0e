package browser

import (
	"bytes"
	"fmt"
	"image/png"
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

func TestView(t *testing.T) {
	b := Start(t)
	const html = `<!DOCTYPE html><meta name="viewport" content="width=device-width"><style>
		@media (prefers-color-scheme: dark) { p::after { content: "dark" } }
		@media print { div::after { content: "paper" } }
	</style><p></p><div></div><noscript>still</noscript><b style="display:block;height:3000px"></b>`
	open := func(t *testing.T, view View) (*Page, string) {
		p := b.Open(t, html, view)
		var got string
		p.Evaluate(t, `[innerWidth, getComputedStyle(document.querySelector("p"), "::after").content,
			getComputedStyle(document.querySelector("div"), "::after").content,
			document.querySelector("noscript").childElementCount || document.querySelector("noscript").innerText].join(" ")`, &got)
		return p, got
	}
	for name, test := range map[string]struct {
		view View
		want string
	}{
		"ordinary":        {View{}, "1280 none none still"},
		"narrow and dark": {View{Width: 360, Dark: true}, `360 "dark" none still`},
		"on paper":        {View{Print: true}, `1280 none "paper" still`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := open(t, test.view); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("without scripts", func(t *testing.T) {
		p := b.Open(t, `<!DOCTYPE html><script>document.title = "ran"</script>`, View{NoScripts: true})
		var title string
		p.Evaluate(t, "document.title", &title)
		if title != "" {
			t.Errorf("a script has run")
		}
	})
	t.Run("screenshot", func(t *testing.T) {
		p, _ := open(t, View{Width: 400, Height: 300, Scale: 2})
		for whole, height := range map[bool]int{false: 600, true: 6000} {
			picture, err := png.Decode(bytes.NewReader(p.Screenshot(t, whole)))
			if err != nil {
				t.Fatal(err)
			}
			if size := picture.Bounds().Size(); size.X != 800 || size.Y < height {
				t.Errorf("whole %v: a picture of %v, want 800 by %d at least", whole, size, height)
			}
		}
	})
}
