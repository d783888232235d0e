package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/testdata/docs"
)

// discovered is the name of the job by which Prometheus finds the pods of the controller.
const discovered = "discovered"

// discovery is the job of the examples, which finds what to scrape by the API server, as it is
// asked from outside of the cluster.
func (m *measured) discovery() string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(docs.Root(m.t), "examples", "monitoring", "prometheus.yaml"))
	m.do(err)
	var file struct {
		Jobs []map[string]any `json:"scrape_configs"`
	}
	m.do(yaml.Unmarshal(text, &file))
	_, kubeconfig, err := m.c.ServiceAccount(m.t.Context(), "default", "reader")
	m.do(err)
	job := file.Jobs[0]
	job["job_name"] = discovered
	job["authorization"].(map[string]any)["credentials_file"] = "token"
	job["kubernetes_sd_configs"].([]any)[0].(map[string]any)["kubeconfig_file"] = kubeconfig
	written, err := yaml.Marshal(file.Jobs[:1])
	m.do(err)
	return string(written)
}

// findsPods has a pod of the controller, as install has it, behind its Service and another one,
// and waits until Prometheus finds its metrics, once and nothing else of it, with the rights
// that the example names. Nothing listens at its address.
func (w *watched) findsPods() {
	w.t.Helper()
	const namespace = manifests.DefaultNamespace
	w.kubectl("-n", namespace, "create", "role", "finds", "--verb=get,list,watch", "--resource=endpointslices.discovery.k8s.io,services,pods")
	w.kubectl("-n", namespace, "create", "rolebinding", "finds", "--role=finds", "--serviceaccount=default:reader")
	api, err := client.New(w.c.Config, client.Options{}) // that of w knows no Deployments
	w.do(err)
	w.do(api.Create(w.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "metrics", Port: 8443}}},
	}))
	var deployment appsv1.Deployment
	w.do(api.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: manifests.Name}, &deployment))
	pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
	pod.Namespace, pod.Name = namespace, "nodepools-0"
	w.do(api.Create(w.t.Context(), pod))
	pod.Status.PodIP, pod.Status.PodIPs = "192.0.2.1", []corev1.PodIP{{IP: "192.0.2.1"}}
	w.do(api.Status().Update(w.t.Context(), pod))
	for service, address := range map[string]string{manifests.MetricsName: pod.Status.PodIP, "other": "192.0.2.2"} {
		w.do(api.Create(w.t.Context(), &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: new("metrics"), Port: new(int32(8443))}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name},
			}},
		}))
	}
	w.until("Prometheus finds the pods of the controller", func() error {
		var found struct {
			Data struct {
				Targets []struct {
					Job    string            `json:"scrapePool"`
					URL    string            `json:"scrapeUrl"`
					Labels map[string]string `json:"labels"`
				} `json:"activeTargets"`
			} `json:"data"`
		}
		if err := w.server.get("/api/v1/targets?state=active", &found); err != nil {
			return err
		}
		var targets []string
		for _, target := range found.Data.Targets {
			if target.Job == discovered {
				targets = append(targets, target.URL+" "+target.Labels["pod"])
			}
		}
		if !slices.Equal(targets, []string{"https://192.0.2.1:8443/metrics nodepools-0"}) {
			return fmt.Errorf("these are found: %q", targets)
		}
		return nil
	})
}
