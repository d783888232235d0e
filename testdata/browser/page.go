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
	// address is the URL under which a page is shown; nothing is requested from it.
	address = "https://page.invalid/"
	// ours marks the scripts by which a test inspects a page.
	ours = "test-inspects-page"
)

// View is how a page is rendered.
type View struct {
	// Width and Height are those of the window, in CSS pixels; 1280 and 800 where
	// they are 0.
	Width, Height int
	// Scale is how many pixels of a screenshot a CSS pixel is wide; 1 where it is 0.
	Scale float64
	// Dark is the preferred colour scheme; light otherwise.
	Dark bool
	// Print renders it as on paper.
	Print bool
	// NoScripts disables scripts.
	NoScripts bool
}

// Done is everything that a page has done besides being rendered. A static page
// has done nothing.
type Done struct {
	// Requests are the addresses that it has requested, all refused.
	Requests []string
	// Dialogs are the texts of dialogs that it has opened.
	Dialogs []string
	// Scripts are the sources of its scripts; each has run, or may run later.
	Scripts []string
	// Complaints are messages of the browser: violations of the security policy,
	// and errors of scripts.
	Complaints []string
}

// Page is a page in its own window.
type Page struct {
	browser *Browser
	session string
	html    string
	loaded  chan struct{}

	mu     sync.Mutex
	served bool
	done   Done
}

// Open shows a page, and waits until it is loaded.
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
			t.Fatalf("open a page: %v\n%s", err, b.logTail())
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
	must(p.render(t, view))
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

func (p *Page) render(t testing.TB, view View) error {
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

// Evaluate evaluates a JavaScript expression in the page, even if the page does
// not allow scripts.
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

// Screenshot returns a picture of the window, as PNG; with whole, of the entire page.
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

// Done returns what the page has done so far.
func (p *Page) Done() Done {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Done{
		Requests: slices.Clone(p.done.Requests), Dialogs: slices.Clone(p.done.Dialogs),
		Scripts: slices.Clone(p.done.Scripts), Complaints: slices.Clone(p.done.Complaints),
	}
}

// event records what the page does. It sends and does not wait.
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
		p.record(&p.done.Dialogs, event.Message)
		p.post("Page.handleJavaScriptDialog", object{"accept": false})
	case "Debugger.scriptParsed":
		if !strings.HasSuffix(event.URL, ours) {
			p.record(&p.done.Scripts, event.URL)
		}
	case "Log.entryAdded":
		p.record(&p.done.Complaints, event.Entry.Text)
	case "Runtime.exceptionThrown":
		p.record(&p.done.Complaints, event.ExceptionDetails.Text)
	}
}

// request answers the first request with the page, and refuses all others. The browser
// itself requests the icon of a page that names none: that request is not the page's.
func (p *Page) request(id, url string) {
	if url == address+"favicon.ico" {
		p.post("Fetch.fulfillRequest", object{"requestId": id, "responseCode": 204})
		return
	}
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

// post sends a command without waiting for its answer.
func (p *Page) post(method string, params object) {
	_, _ = p.browser.send(p.session, method, params) // a browser that has ended is noticed by who waits
}

func (p *Page) record(list *[]string, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, what)
}
