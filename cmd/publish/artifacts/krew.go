package artifacts

import (
	"bytes"
	"fmt"
	"text/template"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// downloads is where the files of a release are published.
const downloads = "https://github.com/nodepools/nodepools/releases/download/"

// plugin is what a krew manifest says of one platform.
type plugin struct {
	program.Platform
	Archive, SHA256, Executable string
}

// krewManifest returns the plugin as an index of krew lists it:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
func krewManifest(version string, plugins []plugin) ([]byte, error) {
	var buffer bytes.Buffer
	err := krewTemplate.Execute(&buffer, struct {
		Version, Downloads string
		Plugins            []plugin
	}{version, downloads + version + "/", plugins})
	if err != nil {
		return nil, fmt.Errorf("cannot write the manifest of krew: %w", err)
	}
	return buffer.Bytes(), nil
}

// Installed returns the name under which kubectl finds the plugin.
func (p plugin) Installed() string { return p.Platform.Executable("kubectl-nodepools") }

var krewTemplate = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: nodepools
spec:
  version: {{.Version}}
  homepage: https://github.com/nodepools/nodepools
  shortDescription: Review and explain node pools kept in Git
  description: |
    Nodepools keeps the labels and taints of nodes, and the RuntimeClasses that
    go with them, as NodePool files in a Git repository say.

    The plugin shows what a change of these files does to nodes and to the pods
    that run on them (diff), who owns a label or a taint of a node, and why
    (explain), checks and expands the files (validate, render), writes pools for
    what nodes carry already (adopt), and prints the manifests that install the
    controller (install).
  platforms:
{{- range .Plugins}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{$.Downloads}}{{.Archive}}
    sha256: {{.SHA256}}
    bin: {{.Installed}}
    files:
    - from: {{.Executable}}
      to: {{.Installed}}
    - from: LICENSE
      to: .
{{- end}}
`))
