package observe

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/apply/plan"
)

// ReadNodes reads nodes as kubectl prints them: a stream of YAML documents, or of JSON,
// which is YAML too. Each is a Node or a list of them. A list may be empty, but not the
// stream: that is what a command leaves behind when it has failed.
func ReadNodes(from io.Reader) ([]*plan.NodeState, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(from))
	found := nodeReader{known: map[string]bool{}}
	documents := 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		if string(data) == "null" {
			continue // comments alone, or nothing
		}
		documents++
		if err := found.read(data); err != nil {
			return nil, err
		}
	}
	if documents == 0 {
		return nil, errors.New("there is nothing in it")
	}
	return found.nodes, nil
}

type nodeReader struct {
	nodes []*plan.NodeState
	known map[string]bool
}

// object is what decides how the rest is read.
type object struct {
	APIVersion string                 `json:"apiVersion"`
	Kind       string                 `json:"kind"`
	Items      []runtime.RawExtension `json:"items"`
}

func (r *nodeReader) read(data []byte) error {
	var is object
	if err := yaml.Unmarshal(data, &is); err != nil {
		return errors.New("this is no Kubernetes object")
	}
	switch {
	case is.APIVersion == "v1" && is.Kind == "Node":
		return r.node(data)
	case is.APIVersion == "v1" && (is.Kind == "NodeList" || is.Kind == "List"):
		for _, item := range is.Items {
			if err := r.item(item.Raw, is.Kind); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("it holds a %q of apiVersion %q, and not a Node, NodeList or List of v1", is.Kind, is.APIVersion)
	}
}

// item reads one of a list. Those of a NodeList need not say what they are.
func (r *nodeReader) item(data []byte, list string) error {
	var is object
	if err := yaml.Unmarshal(data, &is); err != nil {
		return errors.New("an item of a list is no Kubernetes object")
	}
	if list == "List" && is.Kind != "Node" {
		return fmt.Errorf("a List in it holds a %q, and not only Nodes", is.Kind)
	}
	return r.node(data)
}

func (r *nodeReader) node(data []byte) error {
	node := &corev1.Node{}
	switch err := yaml.Unmarshal(data, node); {
	case err != nil:
		return fmt.Errorf("a Node cannot be read: %w", err)
	case node.Name == "":
		return errors.New("a Node has no name")
	case r.known[node.Name]:
		return fmt.Errorf("node %q appears twice", node.Name)
	}
	r.known[node.Name] = true
	r.nodes = append(r.nodes, plan.StateOf(node))
	return nil
}
