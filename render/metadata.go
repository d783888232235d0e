package render

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// metadata has the fields that a file may set in a pool's metadata.
type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// refusedFields are fields of a NodePool that the cluster sets and a file may
// not, each with the reason.
var refusedFields = map[string]string{
	"status":                              "is what the controller reports, not for a file to say",
	"metadata.namespace":                  "a NodePool has no namespace: it is of the whole cluster",
	"metadata.generateName":               "a pool in a file needs a name of its own",
	"metadata.finalizers":                 "finalizers are the controller's",
	"metadata.ownerReferences":            "a pool in a file belongs to its source",
	"metadata.managedFields":              "is what the API server records",
	"metadata.resourceVersion":            "is what the API server records",
	"metadata.uid":                        "is what the API server records",
	"metadata.generation":                 "is what the API server records",
	"metadata.creationTimestamp":          "is what the API server records",
	"metadata.deletionTimestamp":          "is what the API server records",
	"metadata.deletionGracePeriodSeconds": "is what the API server records",
	"metadata.selfLink":                   "is what the API server records",
	"metadata.clusterName":                "is what the API server records",
}

// switches are the annotations of the project's own domain that a file may set,
// each to "disabled".
var switches = []string{v1.PruneAnnotation, v1.ReconcileAnnotation}

// settable are all annotations of the project's own domain that a file may set.
var settable = append(slices.Clone(switches), v1.AcknowledgeSelfJoinAnnotation)

// lastApplied is where kubectl keeps what it has applied itself. A later 'kubectl apply' of
// the pool removes what it finds in there and not in its file, and reviews leave it out.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// validateMetadata checks labels and annotations by the rules of the API
// server, and refuses those that the controller writes.
func validateMetadata(m *metadata) field.ErrorList {
	labels, annotations := field.NewPath("metadata", "labels"), field.NewPath("metadata", "annotations")
	problems := metav1validation.ValidateLabels(m.Labels, labels)
	problems = append(problems, apivalidation.ValidateAnnotations(m.Annotations, annotations)...)
	for key := range m.Labels {
		if strings.HasPrefix(key, v1.Domain+"/") {
			problems = append(problems, field.Forbidden(labels.Key(key), "labels under "+v1.Domain+"/ are kept for the controller"))
		}
	}
	for key, value := range m.Annotations {
		switch {
		case key == lastApplied:
			problems = append(problems, field.Forbidden(annotations.Key(key), "is what kubectl records of what it has applied"))
		case !strings.HasPrefix(key, v1.Domain+"/"):
		case !slices.Contains(settable, key):
			problems = append(problems, field.Forbidden(annotations.Key(key),
				"annotations under "+v1.Domain+"/ are kept for the controller, but for "+strings.Join(settable[:2], ", ")+" and "+settable[2]))
		case slices.Contains(switches, key) && value != v1.Disabled:
			problems = append(problems, field.NotSupported(annotations.Key(key), value, []string{v1.Disabled}))
		}
	}
	return problems
}
