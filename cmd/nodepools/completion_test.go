package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// For each flag that takes a value it is said what is proposed, and for the arguments
// of each command: else a shell proposes files, be it for a number.
func TestEverythingIsCompleted(t *testing.T) {
	everyCommand(newRoot("nodepools", streams{}), func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			_, isCompleted := command.GetFlagCompletionFunc(flag.Name)
			if !isCompleted && flag.NoOptDefVal == "" {
				t.Errorf("%s --%s: nothing is said of its value", command.CommandPath(), flag.Name)
			}
		})
		if command.ValidArgsFunction == nil && !command.HasSubCommands() {
			t.Errorf("%s: nothing is said of its arguments", command.CommandPath())
		}
	})
}

// The name of the program says how it was called, on Windows, too.
func TestProgramName(t *testing.T) {
	for _, program := range []string{"/usr/local/bin/kubectl_complete-nodepools", "kubectl_complete-nodepools.exe"} {
		if got := programName(program); got != complete.Plugin {
			t.Errorf("%s is called %q", program, got)
		}
	}
}

// proposed is what completion proposes, without the directive.
func proposed(ctx context.Context, t *testing.T, args ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(ctx, append([]string{complete.Plugin}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs}); code != exitOK {
		t.Fatalf("%q: exit code %d, %s", args, code, errs.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	return lines[:len(lines)-1]
}

// kubeconfigOf is a file for a server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["a"] = &clientcmdapi.Cluster{Server: server}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{}
	config.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
	config.CurrentContext = "a"
	name := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Whatever a server answers, a completion is empty or has names, and ends.
func TestCompletionOfServersInTrouble(t *testing.T) {
	table := func(rows string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != observe.NodesPath || r.URL.Query().Get("includeObject") != "None" || !strings.Contains(r.Header.Get("Accept"), "as=Table") {
				t.Errorf("asked for %s as %s", r.URL, r.Header.Get("Accept"))
			}
			w.Header().Set("Content-Type", "application/json")
			if _, err := w.Write([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[` + rows + `]}`)); err != nil {
				t.Error(err)
			}
		}
	}
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   []string
	}{
		"names":         {table(`{"cells":["gpu-2","Ready"]},{"cells":["gpu-1"]},{"cells":["web-1"]}`), []string{"gpu-1", "gpu-2"}},
		"no nodes":      {table(``), nil},
		"hostile names": {table(`{"cells":["gpu-$(reboot)"]},{"cells":["gpu-\n:0"]},{"cells":["gpu-\u001b[2J"]},{"cells":[1]},{"cells":[]},{"cells":null}`), nil},
		"no table":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, nil},
		"no rights":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, nil},
		"too busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1000")
			w.WriteHeader(http.StatusTooManyRequests)
		}, nil},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-gone:
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			t.Cleanup(server.CloseClientConnections)
			t.Cleanup(server.Close)
			args := []string{"explain", "node", "--kubeconfig", kubeconfigOf(t, server.URL), "--timeout", "10m", "gpu-"}
			if test.want == nil && name != "no nodes" && name != "hostile names" {
				args[5] = "500ms"
			}
			if got := proposed(t.Context(), t, args...); !slices.Equal(got, test.want) {
				t.Errorf("proposed: %q, want %q", got, test.want)
			}
		})
	}
}

// A credential plugin cannot ask anything while a command line is being typed.
func TestCompletionLetsNoPluginAsk(t *testing.T) {
	name := kubeconfigOf(t, "https://127.0.0.1:1")
	config, err := clientcmd.LoadFromFile(name)
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos["a"].Exec = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "login", InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode}
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		t.Fatal(err)
	}
	f := clusterFlags{kubeconfig: name}
	if config, err := f.unattended(); err != nil || !config.ExecProvider.StdinUnavailable {
		t.Errorf("a plugin may ask: %v, %v", config, err)
	}
}
