package apply

import (
	"context"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// onlyMetadata requests only the metadata of the written object. A running node
// is 12 to 16 KiB, most of it images and conditions, which would be encoded
// there, and read here, for nothing.
const onlyMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// noFieldValidation keeps the API server from parsing every patch a second
// time, for duplicate keys. No patch is written by hand. An apply with a field
// that does not exist is refused all the same.
const noFieldValidation = metav1.FieldValidationIgnore

// NodeClient is a NodePatcher for thousands of writes. It requests as little as
// possible: no validation of fields, and the smallest response, which it
// discards. It does not retry, so that the caller learns at once that the API
// server is overloaded.
type NodeClient struct {
	rest rest.Interface
}

// NewNodeClient returns a NodeClient that shares the connections of an HTTP
// client, such as those of a manager.
func NewNodeClient(config *rest.Config, connections *http.Client) (*NodeClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.AcceptContentTypes = onlyMetadata
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	// The server's own limits apply.
	config.QPS, config.RateLimiter = -1, nil
	client, err := rest.RESTClientForConfigAndClient(config, connections)
	if err != nil {
		return nil, fmt.Errorf("make a client for nodes: %w", err)
	}
	return &NodeClient{rest: client}, nil
}

// PatchNode implements [NodePatcher].
func (c *NodeClient) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	request := c.rest.Patch(patch.Type).Resource("nodes").Name(name).
		Param("fieldManager", v1.FieldManager).
		Param("fieldValidation", noFieldValidation).
		MaxRetries(0).
		Body(patch.Data)
	if patch.Type == types.ApplyPatchType {
		request = request.Param("force", "true")
	}
	answer, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer answer.Close()
	// A body that is read to its end lets the connection be reused. The write is
	// done, whether or not the rest of the response arrives.
	_, _ = io.Copy(io.Discard, answer)
	return nil
}
