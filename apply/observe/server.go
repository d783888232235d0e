package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/plan"
)

// Server is an API server that is read.
type Server struct {
	reader  client.Reader
	config  *rest.Config
	timeout time.Duration
}

// Connect makes a client that waits for the answers to one call of a method no longer
// than the timeout. Nothing is sent before the first list: even what the API server
// serves is not asked for.
func Connect(config *rest.Config, timeout time.Duration) (*Server, error) {
	reader, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	return &Server{reader: reader, config: config, timeout: timeout}, nil
}

// Name is the address of the server without what may be secret in it.
func (s *Server) Name() string { return connect.ServerName(s.config) }

// Config is that of the connection.
func (s *Server) Config() *rest.Config { return s.config }

// Nodes lists the nodes alone, and by node the handlers that its kubelet reports: none where
// it reports nothing.
func (s *Server) Nodes(ctx context.Context) ([]*plan.NodeState, map[string][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	nodes, err := list[corev1.Node](ctx, s.reader, &corev1.NodeList{})
	states, handlers := make([]*plan.NodeState, len(nodes)), map[string][]string{}
	for i, node := range nodes {
		states[i] = plan.StateOf(node)
		for _, handler := range node.Status.RuntimeHandlers {
			if handler.Name != "" { // of the default one a second time
				handlers[node.Name] = append(handlers[node.Name], handler.Name)
			}
		}
	}
	return states, handlers, s.explain("nodes", err)
}

// explain says of an error what was to be listed.
func (s *Server) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsNotFound(err) {
		return connect.OneLine(fmt.Errorf("list %s: %s does not serve them: %w", what, s.Name(), err))
	}
	return connect.Explain(fmt.Errorf("list %s: %w", what, err), s.Name(), s.timeout)
}
