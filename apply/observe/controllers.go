package observe

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
)

// Controllers lists the Deployments of the controller, in whatever namespace: their name
// and their labels are the same everywhere.
func (s *Server) Controllers(ctx context.Context) ([]appsv1.Deployment, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var found appsv1.DeploymentList
	err := s.reader.List(ctx, &found, client.MatchingLabels(manifests.Labels()))
	others := func(d appsv1.Deployment) bool { return d.Name != manifests.Name }
	return slices.DeleteFunc(found.Items, others), s.explain("deployments.apps", err)
}
