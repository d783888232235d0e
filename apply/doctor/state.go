package doctor

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// State is what is observed of a cluster. What does not exist is nil or missing; what
// could not be read is so, too, and stands in Unread.
type State struct {
	// Server names the cluster for the reader.
	Server string
	// Kubernetes is the version of the API server, as v1.30.2.
	Kubernetes string
	// Version is that of the program that examines. Tag is the one of its image, and
	// empty for one that is not a release.
	Version, Tag string
	// Namespace of the controller.
	Namespace string
	// Now is the time at which leases are judged, by the clock of the API server where it
	// says what that is.
	Now time.Time

	// Neighbours are the resources of other API groups that have a plural of ours, as
	// nodepools.karpenter.sh, sorted.
	Neighbours []string

	// Definitions, policies and bindings are by name.
	Definitions map[string]*apiextensionsv1.CustomResourceDefinition
	Policies    map[string]*admissionv1.ValidatingAdmissionPolicy
	Bindings    map[string]*admissionv1.ValidatingAdmissionPolicyBinding
	Account     *corev1.ServiceAccount
	// Missing are the rights that the account does not have, as "patch nodes"; MissingForDrains
	// are those of the rights that it needs for pools that have nodes drained.
	Missing, MissingForDrains []string
	Deployment                *appsv1.Deployment
	// MetricsService is the one by which the metrics are found.
	MetricsService *corev1.Service
	Lease          *coordinationv1.Lease
	// Renewed is set when the lease was renewed while it was looked at, which shows that
	// its holder works, whatever its clock says. It is looked at so long where that is in
	// doubt.
	Renewed bool
	// OtherLeases are those of the same name in other namespaces.
	OtherLeases []*coordinationv1.Lease
	Sources     []*v1.NodePoolSource
	Pools       []*v1.NodePool
	Nodes       []*plan.NodeState
	// Handlers are those that kubelets report of their nodes, by node; none of a node of
	// which nothing is reported.
	Handlers map[string][]string

	// Unread says why a check has nothing to go by.
	Unread map[Check]error
}

// Check is one of those that are made.
type Check string

// The checks, in the order in which they are reported.
const (
	Definitions Check = "definitions"
	Policies    Check = "policies"
	Rights      Check = "rights"
	Controller  Check = "controller"
	Lease       Check = "lease"
	Metrics     Check = "metrics"
	Versions    Check = "versions"
	Sources     Check = "sources"
	Pools       Check = "pools"
	Nodes       Check = "nodes"
)
