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

// onlyMetadata asks the API server to answer with the metadata of what was
// written. A node that runs is 12 to 16 KiB, most of it images and conditions,
// which would be encoded there, and read here, for nothing.
const onlyMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// unwritten keeps the API server from reading every patch a second time, for keys
// that stand in it twice. No patch was written by hand. An apply with a field that
// does not exist is refused all the same.
const unwritten = metav1.FieldValidationIgnore

// NodeClient is a NodePatcher for thousands of writes. It asks for as little as can
// be: no second look at what is sent, and the smallest answer, which it does not
// read. It leaves it to its caller to try again, so that the caller learns at once
// that the API server has too much to do.
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
	// The server's own limits hold.
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
		Param("fieldValidation", unwritten).
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
	// Read to its end, the connection is as good as new. It is written, whatever
	// becomes of the rest of the answer.
	_, _ = io.Copy(io.Discard, answer)
	return nil
}
