package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// hook is what one fills in at a forge so that it reports pushes.
type hook struct{ url, token string }

// reporting reports each push, once it is served, as a forge does.
func reporting(next http.Handler, to *atomic.Pointer[hook]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if h := to.Load(); h != nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			go func() {
				if err := h.report(); err != nil {
					fmt.Fprintf(os.Stderr, "demo: report a push: %v\n", err)
				}
			}()
		}
	})
}

func (h *hook) report() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	body := []byte(`{"ref":"refs/heads/main"}`)
	mac := hmac.New(sha256.New, []byte(h.token))
	mac.Write(body) // never fails
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() // nothing is read from it
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}

// makeToken makes the Secret with the token that the Git server signs with.
func (s *stage) makeToken(ctx context.Context) error {
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	s.token = hex.EncodeToString(token)
	s.sh.env = append(s.sh.env, "TOKEN="+s.token)
	s.out.text("The Git server is to report each push, so that nobody has to wait for a poll. Its reports are signed with a token:")
	return s.sh.show(ctx, "kubectl create secret generic push -n nodepools-system \\\n"+
		"    --type=nodes.lailin.xyz/webhook --from-literal=token=\"$TOKEN\"")
}

var listeningAt = regexp.MustCompile(`receiving webhooks.* address=(\S+:\d+)`)

// reportPushes gives the Git server the URL of the source's webhook.
func (s *stage) reportPushes(ctx context.Context) error {
	const path = "kubectl get nodepoolsources.nodes.lailin.xyz platform \\\n    -o jsonpath='{.status.webhookPath}{\"\\n\"}'"
	if err := s.sh.quietly(ctx, "kubectl wait --for=condition=WebhookReady --timeout=30s nodepoolsources.nodes.lailin.xyz/platform"); err != nil {
		return err
	}
	s.out.text("The path of the URL is in the status of the source. URL and token go into the form of the Git server for webhooks:")
	printed, err := s.sh.showing(ctx, path, 0, 0)
	if err != nil {
		return err
	}
	_, err = until(ctx, time.Now(), "the controller to receive webhooks", func(context.Context) error {
		log, err := os.ReadFile(s.controllerLogFile())
		if err != nil {
			return err
		}
		found := listeningAt.FindSubmatch(log)
		if found == nil {
			return fmt.Errorf("its log has no address")
		}
		s.git.hook.Store(&hook{url: "http://" + string(found[1]) + strings.TrimSpace(printed), token: s.token})
		return nil
	})
	return err
}
