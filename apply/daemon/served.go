package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/connect"
)

// NotServedError means that an API server does not know one of our kinds.
type NotServedError struct{ Resource string }

func (e *NotServedError) Error() string {
	return fmt.Sprintf("the cluster does not know %s of %s", e.Resource, v1.GroupVersion)
}

// Served asks the API server whether it knows our kinds, and returns a [*NotServedError]
// where it does not: without them the controller would wait for its caches and in the end
// say no more than that they did not come.
func Served(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, connect.DialTimeout)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	served := &metav1.APIResourceList{}
	err = client.RESTClient().Get().AbsPath("/apis/" + v1.GroupVersion.String()).Do(ctx).Into(served)
	if err != nil && !apierrors.IsNotFound(err) {
		return connect.Explain(err, connect.ServerName(config), connect.DialTimeout)
	}
	for _, name := range []string{"nodepools", "nodepoolsources"} {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			return &NotServedError{Resource: name}
		}
	}
	return nil
}

// isAway reports whether an error says that the API server does not answer: there is no
// connection, no answer in time, or one that is to be asked for again.
func isAway(err error) bool {
	var (
		connection *net.OpError
		lookup     *net.DNSError
	)
	if errors.As(err, &lookup) && lookup.IsNotFound {
		return false
	}
	if errors.As(err, &connection) || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && (status.Status().Code >= 500 || apierrors.IsTooManyRequests(err))
}
