package manifests

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MetricsServing is how the controller serves metrics.
type MetricsServing string

// How metrics are served. The zero value is SecureMetrics.
const (
	// SecureMetrics are served by TLS, to those alone who may get their path.
	SecureMetrics MetricsServing = "secure"
	// PlainMetrics are served to whoever can connect.
	PlainMetrics MetricsServing = "plain"
	// NoMetrics are served nowhere.
	NoMetrics MetricsServing = "none"
)

// MetricsServings returns all of them, the default first.
func MetricsServings() []MetricsServing {
	return []MetricsServing{SecureMetrics, PlainMetrics, NoMetrics}
}

const (
	// MetricsName is the name of the Service of the metrics, and of the role by which the
	// controller reviews who reads them.
	MetricsName = Name + "-metrics"
	// MetricsReaderName is the name of the role of who may read them.
	MetricsReaderName = Name + "-metrics-reader"
)

const secureMetricsPortNumber = 8443

// MetricsRules returns all that it takes to review who reads the metrics. A test fails
// when one is missing or not used.
func MetricsRules() []rbacv1.PolicyRule {
	create := func(group, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"create"}}
	}
	return []rbacv1.PolicyRule{
		// Whose a token is,
		create("authentication.k8s.io", "tokenreviews"),
		// and whether that one may get the path.
		create("authorization.k8s.io", "subjectaccessreviews"),
	}
}

// MetricsReaderRules returns all that it takes to read the metrics.
func MetricsReaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
}

// Metrics returns the Service by which each replica is found, and for metrics that not
// everybody may read the roles of the controller and of who may. The latter is bound by
// the administrator.
func Metrics(namespace string, serving MetricsServing) []Object {
	if serving == NoMetrics {
		return nil
	}
	objects := []Object{&corev1.Service{
		TypeMeta:   kind(corev1.SchemeGroupVersion, "Service"),
		ObjectMeta: metaOf(MetricsName, namespace),
		Spec: corev1.ServiceSpec{
			// Each replica has metrics of its own: one address for both would have them
			// scraped in turn.
			ClusterIP: corev1.ClusterIPNone,
			Selector:  Labels(),
			Ports: []corev1.ServicePort{{
				Name: metricsPort, Port: metricsPortOf(serving), TargetPort: intstr.FromString(metricsPort), Protocol: corev1.ProtocolTCP,
			}},
		},
	}}
	if serving == PlainMetrics {
		return objects
	}
	return append(objects,
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metaOf(MetricsName, ""), Rules: MetricsRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: metaOf(MetricsName, ""),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: MetricsName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: namespace}},
		},
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metaOf(MetricsReaderName, ""), Rules: MetricsReaderRules()},
	)
}

func metricsPortOf(serving MetricsServing) int32 {
	if serving == PlainMetrics {
		return metricsPortNumber
	}
	return secureMetricsPortNumber
}

// metricsArgs are the arguments by which the controller serves metrics, and its ports for
// that.
func metricsArgs(serving MetricsServing) (args []string, ports []corev1.ContainerPort) {
	if serving == NoMetrics {
		return []string{"--metrics-bind-address=0"}, nil
	}
	number := metricsPortOf(serving)
	args = []string{fmt.Sprintf("--metrics-bind-address=:%d", number)}
	if serving == PlainMetrics {
		args = append(args, "--metrics-secure=false")
	}
	return args, []corev1.ContainerPort{{Name: metricsPort, ContainerPort: number, Protocol: corev1.ProtocolTCP}}
}
