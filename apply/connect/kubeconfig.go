package connect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
)

// NoClusterError says that no kubeconfig file names a cluster.
type NoClusterError struct{ why string }

func (e *NoClusterError) Error() string { return "no cluster is configured: " + e.why }

// Hint says how a cluster is named.
func (e *NoClusterError) Hint() string { return "name a file with --kubeconfig or KUBECONFIG" }

// Kubeconfig reads the configuration of a connection where kubectl looks for it: the file that is named, those in
// KUBECONFIG, ~/.kube/config. Where these name no cluster, the error is a
// *NoClusterError.
func Kubeconfig(path, contextName string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	rules.WarnIfAllMissing = false
	present, err := checkFiles(rules)
	if err != nil {
		return nil, err
	}
	loaded, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if err := checkContext(loaded, contextName); err != nil {
		return nil, err
	}
	if err := checkURLs(loaded, contextName); err != nil {
		return nil, hint.Add(err, "correct it in the kubeconfig file")
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*loaded, contextName, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	none := clientcmd.IsEmptyConfig(err) || err != nil && len(loaded.Contexts) == 0
	switch {
	case none && path != "":
		return nil, hint.Add(fmt.Errorf("kubeconfig: there is no cluster in %s", path), "name another file with --kubeconfig")
	case none:
		return nil, noCluster(present)
	case err != nil:
		return nil, hint.Add(fmt.Errorf("kubeconfig: %w", err), "'kubectl config view' shows what the file says")
	}
	return Tuned(config), nil
}

// noCluster says why there is none, given the files that are there.
func noCluster(present []string) error {
	named := slices.DeleteFunc(strings.Split(os.Getenv(clientcmd.RecommendedConfigPathEnvVar), string(os.PathListSeparator)),
		func(name string) bool { return name == "" })
	switch {
	case len(present) > 0:
		return &NoClusterError{"there is none in " + strings.Join(present, ", ")}
	case len(named) == 1:
		return &NoClusterError{"KUBECONFIG names " + named[0] + ", which does not exist"}
	case len(named) > 1:
		return &NoClusterError{"KUBECONFIG names " + strings.Join(named, ", ") + ", none of which exists"}
	default:
		return &NoClusterError{"there is no kubeconfig file"}
	}
}

// checkFiles refuses files that cannot be read or are no kubeconfig, and returns
// the others. A file may be missing unless it is named by itself.
func checkFiles(rules *clientcmd.ClientConfigLoadingRules) (present []string, err error) {
	names := rules.GetLoadingPrecedence()
	for _, name := range names {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && rules.ExplicitPath == "" {
			continue
		}
		if err != nil {
			return nil, hint.Add(fmt.Errorf("kubeconfig: %w", err), "name a file that can be read with --kubeconfig or KUBECONFIG")
		}
		if _, err := clientcmd.Load(data); err != nil {
			return nil, hint.Add(
				fmt.Errorf("%s is not a kubeconfig file: %s", name, whyNone(data, err)),
				"name one with --kubeconfig or KUBECONFIG",
			)
		}
		present = append(present, name)
	}
	return present, nil
}

// whyNone says in plain words why a file is no kubeconfig. What the library says
// is about its own types, and may go on for lines.
func whyNone(data []byte, err error) string {
	var object struct {
		Kind any `json:"kind"`
	}
	var values any
	if notYAML := yaml.Unmarshal(data, &values); notYAML != nil {
		text := strings.TrimPrefix(notYAML.Error(), "error converting YAML to JSON: ")
		if before, _, alias := strings.Cut(text, "unknown anchor"); alias {
			text = before + "an alias has no anchor" // its name may be a password that begins with *
		}
		return clip(text)
	}
	if _, isObject := values.(map[string]any); !isObject {
		return "it holds no object"
	}
	if yaml.Unmarshal(data, &object) == nil && object.Kind != nil && object.Kind != "Config" {
		return clip(fmt.Sprintf("it holds a %q", fmt.Sprint(object.Kind)))
	}
	if mistaken := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistaken) {
		return clip(fmt.Sprintf("%s cannot be a %s", mistaken.Field, mistaken.Value))
	}
	return clip(err.Error())
}

// clip bounds a text that is made of what a file says.
func clip(text string) string {
	return sanitize.Line(sanitize.Clip(strings.Join(strings.Fields(text), " "), 200))
}

// checkContext refuses the name of a context that the kubeconfig files lack.
func checkContext(loaded *clientcmdapi.Config, name string) error {
	known := slices.Sorted(maps.Keys(loaded.Contexts))
	switch {
	case name == "" || len(known) == 0 || slices.Contains(known, name):
		return nil
	default:
		return hint.Add(fmt.Errorf("kubeconfig: there is no context %q", name), "it has: "+strings.Join(known, ", "))
	}
}

// checkURLs refuses addresses that cannot be parsed, those of the context, or all
// where there is no such context. The library's errors repeat them, and they may
// carry a password.
func checkURLs(loaded *clientcmdapi.Config, contextName string) error {
	names := slices.Sorted(maps.Keys(loaded.Clusters))
	if chosen := loaded.Contexts[cmp.Or(contextName, loaded.CurrentContext)]; chosen != nil {
		names = []string{chosen.Cluster}
	}
	for _, name := range names {
		cluster := loaded.Clusters[name]
		if cluster == nil {
			continue // which the library says
		}
		if !parses(cluster.Server) {
			return fmt.Errorf("kubeconfig: the server of cluster %q is not a URL", name)
		}
		proxy, err := url.Parse(cluster.ProxyURL)
		if err != nil || cluster.ProxyURL != "" && !slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme) {
			return fmt.Errorf("kubeconfig: the proxy-url of cluster %q is not an http, https or socks5 URL", name)
		}
	}
	return nil
}

// parses reports whether the library would take an address: a URL, or host:port.
// A user in the latter would be read as part of the host, and printed in errors.
func parses(address string) bool {
	if with, err := url.Parse(address); err == nil && with.Scheme != "" && with.Host != "" {
		return true
	}
	without, err := url.Parse("https://" + address)
	return err == nil && without.User == nil && strings.Trim(without.Path, "/") == ""
}
