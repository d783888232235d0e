package manifests

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// criticalPriority makes room for the controller where there is none: without
	// it no node gets or loses a taint.
	criticalPriority = "system-cluster-critical"
	// nonRoot is the user of the image.
	nonRoot = 65532
	// memoryLimit has room for large repositories, which take far more than nodes
	// do; before it is reached, at heapLimit, what is free is given back at once.
	memoryLimit, heapLimit = "1Gi", "900MiB"
)

// Deployment returns the one that runs the controller.
func Deployment(o Options) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   kind(appsv1.SchemeGroupVersion, "Deployment"),
		ObjectMeta: metaOf(Name, o.Namespace),
		Spec: appsv1.DeploymentSpec{
			// One works and one is ready to take over: nodes join at any time.
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: Labels()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels()},
				Spec:       podSpec(o),
			},
		},
	}
}

func podSpec(o Options) corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName: Name,
		PriorityClassName:  criticalPriority,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			RunAsUser:      ptr.To[int64](nonRoot),
			RunAsGroup:     ptr.To[int64](nonRoot),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{container(o)},
		// A fetch keeps what a server sends here while it reads it: 512 MiB at the
		// most, and eight of them may run at once. What is kept for the next fetch of
		// each source takes 512 MiB at the most, for all of them.
		Volumes: []corev1.Volume{{
			Name: "tmp",
			VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("5Gi"))},
			},
		}},
		Tolerations:               tolerations(),
		Affinity:                  &corev1.Affinity{NodeAffinity: preferControlPlane()},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{spread()},
	}
}

func container(o Options) corev1.Container {
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(healthPort)}},
			TimeoutSeconds: 5,
		}
	}
	args, ports := metricsArgs(o.Metrics)
	args = append([]string{"run", "--leader-elect"}, args...)
	ports = append(ports, port(healthPort, healthPortNumber))
	if o.Webhook {
		args = append(args, fmt.Sprintf("--webhook-bind-address=:%d", webhookPortNumber))
		ports = append(ports, port(webhookPort, webhookPortNumber))
	}
	return corev1.Container{
		Name:           Name,
		Image:          o.Image,
		Args:           args,
		Ports:          ports,
		LivenessProbe:  probe("/healthz"),
		ReadinessProbe: probe("/readyz"),
		Env:            []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: heapLimit}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("50m"),
				corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
			Limits: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("2"),
				corev1.ResourceMemory: resource.MustParse(memoryLimit),
			},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	}
}

// tolerations keep the controller running whatever it puts on nodes: a pool may
// carry any taint, and were every node in one, nobody would be left to take it
// off again. Kubernetes counts the first toleration that fits, so those with a
// time stand before the one for everything: a node that is lost is still left.
func tolerations() []corev1.Toleration {
	lost := func(key string) corev1.Toleration {
		return corev1.Toleration{
			Key:               key,
			Operator:          corev1.TolerationOpExists,
			Effect:            corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To[int64](30),
		}
	}
	return []corev1.Toleration{
		lost(corev1.TaintNodeNotReady),
		lost(corev1.TaintNodeUnreachable),
		{Operator: corev1.TolerationOpExists},
	}
}

// preferControlPlane keeps the controller, which tolerates every taint, from
// nodes that pools set apart for something else, where there is another place.
func preferControlPlane() *corev1.NodeAffinity {
	return &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key:      "node-role.kubernetes.io/control-plane",
				Operator: corev1.NodeSelectorOpExists,
			}}},
		}},
	}
}

func spread() corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelHostname,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: Labels()},
	}
}
