package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// address is where a page believes that it is; nothing is asked there.
	address = "https://page.invalid/"
	// ours marks the scripts by which a test looks at a page.
	ours = "test-looks-at-page"
)

// View is how a page is looked at.
type View struct {
	// Width and Height are those of the window, in CSS pixels; 1280 and 800 where
	// they are 0.
	Width, Height int
	// Scale is how many pixels of a screenshot a CSS pixel is wide; 1 where it is 0.
	Scale float64
	// Dark is what the reader has asked for; light otherwise.
	Dark bool
	// Print is how it looks on paper.
	Print bool
	// NoScripts is a browser in which scripts are switched off.
	NoScripts bool
}

// Done is all that a page has done besides being looked at. One that is only to be
// read has done nothing.
type Done struct {
	// Requests are the addresses that it has asked for, all refused.
	Requests []string
	// Dialogs are the texts of windows that it has opened to ask or tell something.
	Dialogs []string
	// Scripts are where scripts of it came from; each has run, or may yet.
	Scripts []string
	// Complaints are what the browser complains of: something that its security
	// policy forbids, or an error of a script.
	Complaints []string
}

// Page is a page in a window of its own.
type Page struct {
	browser *Browser
	session string
	html    string
	loaded  chan struct{}

	mu     sync.Mutex
	served bool
	done   Done
}

// Open shows a page, and waits until it is there as a whole.
func (b *Browser) Open(t testing.TB, html string, view View) *Page {
	t.Helper()
	p := &Page{browser: b, html: html, loaded: make(chan struct{})}
	var window struct {
		BrowserContextID string `json:"browserContextId"`
		TargetID         string `json:"targetId"`
		SessionID        string `json:"sessionId"`
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("open a page: %v\n%s", err, b.said())
		}
	}
	must(b.call(t.Context(), "", "Target.createBrowserContext", nil, &window))
	must(b.call(t.Context(), "", "Target.createTarget", object{"url": "about:blank", "browserContextId": window.BrowserContextID}, &window))
	must(b.call(t.Context(), "", "Target.attachToTarget", object{"targetId": window.TargetID, "flatten": true}, &window))
	p.session = window.SessionID
	b.handle(p.session, p.event)

	for _, domain := range []string{"Page", "Runtime", "Log", "Debugger"} {
		must(p.call(t, domain+".enable", nil, nil))
	}
	must(p.call(t, "Fetch.enable", object{"patterns": []object{{"urlPattern": "*"}}}, nil))
	must(p.look(t, view))
	must(p.call(t, "Page.navigate", object{"url": address}, nil))
	select {
	case <-p.loaded:
	case <-b.done:
		must(errEnded)
	case <-time.After(answerTimeout):
		must(fmt.Errorf("it is not there after %s", answerTimeout))
	}
	t.Cleanup(func() {
		err := b.call(context.Background(), "", "Target.disposeBrowserContext", object{"browserContextId": window.BrowserContextID}, nil)
		if err != nil {
			t.Errorf("close the page: %v", err)
		}
	})
	return p
}

func (p *Page) look(t testing.TB, view View) error {
	if view.Width == 0 {
		view.Width = 1280
	}
	if view.Height == 0 {
		view.Height = 800
	}
	if view.Scale == 0 {
		view.Scale = 1
	}
	scheme, media := "light", "screen"
	if view.Dark {
		scheme = "dark"
	}
	if view.Print {
		media = "print"
	}
	metrics := object{"width": view.Width, "height": view.Height, "deviceScaleFactor": view.Scale, "mobile": false}
	if err := p.call(t, "Emulation.setDeviceMetricsOverride", metrics, nil); err != nil {
		return err
	}
	features := []object{{"name": "prefers-color-scheme", "value": scheme}}
	if err := p.call(t, "Emulation.setEmulatedMedia", object{"media": media, "features": features}, nil); err != nil {
		return err
	}
	return p.call(t, "Emulation.setScriptExecutionDisabled", object{"value": view.NoScripts}, nil)
}

// call sends a command to the page.
func (p *Page) call(t testing.TB, method string, params object, result any) error {
	return p.browser.call(t.Context(), p.session, method, params, result)
}

// Evaluate reads something of the page by an expression of JavaScript, whatever
// the page allows itself.
func (p *Page) Evaluate(t testing.TB, expression string, into any) {
	t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	params := object{"expression": expression + "\n//# sourceURL=" + ours, "returnByValue": true}
	if err := p.call(t, "Runtime.evaluate", params, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.ExceptionDetails != nil {
		t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if err := json.Unmarshal(answer.Result.Value, into); err != nil {
		t.Fatalf("%s: read %s: %v", expression, answer.Result.Value, err)
	}
}

// Screenshot returns a picture of the window, as PNG; whole is one of all that
// there is below it as well.
func (p *Page) Screenshot(t testing.TB, whole bool) []byte {
	t.Helper()
	var picture struct{ Data []byte }
	params := object{"format": "png", "captureBeyondViewport": whole}
	if whole {
		var size struct{ Width, Height float64 }
		p.Evaluate(t, "({Width: document.documentElement.clientWidth, Height: document.documentElement.scrollHeight})", &size)
		params["clip"] = object{"x": 0, "y": 0, "width": size.Width, "height": size.Height, "scale": 1}
	}
	if err := p.call(t, "Page.captureScreenshot", params, &picture); err != nil {
		t.Fatal(err)
	}
	return picture.Data
}

// Done tells what the page has done so far.
func (p *Page) Done() Done {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Done{
		Requests: slices.Clone(p.done.Requests), Dialogs: slices.Clone(p.done.Dialogs),
		Scripts: slices.Clone(p.done.Scripts), Complaints: slices.Clone(p.done.Complaints),
	}
}

// event notes what the page does. It sends and does not wait.
func (p *Page) event(m message) {
	var event struct {
		RequestID, URL, Message string
		Request                 struct{ URL string }
		Entry                   struct{ Text string }
		ExceptionDetails        struct{ Text string }
	}
	if err := json.Unmarshal(m.Params, &event); err != nil {
		return // not one of those below
	}
	switch m.Method {
	case "Page.loadEventFired":
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.served {
			p.served = false
			close(p.loaded)
		}
	case "Fetch.requestPaused":
		p.request(event.RequestID, event.Request.URL)
	case "Page.javascriptDialogOpening":
		p.note(&p.done.Dialogs, event.Message)
		p.post("Page.handleJavaScriptDialog", object{"accept": false})
	case "Debugger.scriptParsed":
		if !strings.HasSuffix(event.URL, ours) {
			p.note(&p.done.Scripts, event.URL)
		}
	case "Log.entryAdded":
		p.note(&p.done.Complaints, event.Entry.Text)
	case "Runtime.exceptionThrown":
		p.note(&p.done.Complaints, event.ExceptionDetails.Text)
	}
}

// request answers the first with the page, and refuses all others.
func (p *Page) request(id, url string) {
	p.mu.Lock()
	first := !p.served && url == address && p.html != ""
	html := p.html
	if first {
		p.served, p.html = true, ""
	} else {
		p.done.Requests = append(p.done.Requests, url)
	}
	p.mu.Unlock()
	if !first {
		p.post("Fetch.failRequest", object{"requestId": id, "errorReason": "AccessDenied"})
		return
	}
	p.post("Fetch.fulfillRequest", object{
		"requestId": id, "responseCode": 200, "body": base64.StdEncoding.EncodeToString([]byte(html)),
		"responseHeaders": []object{{"name": "Content-Type", "value": "text/html"}},
	})
}

// post sends a command whose answer nobody waits for.
func (p *Page) post(method string, params object) {
	_, _ = p.browser.send(p.session, method, params) // a browser that has ended is noticed by who waits
}

func (p *Page) note(list *[]string, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, what)
}
