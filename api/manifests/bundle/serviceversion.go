package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/manifests"
)

// clusterServiceVersion is what OLM installs: the fields that are used of the type of that
// name in operators.coreos.com/v1alpha1. A test holds them to the published schema.
type clusterServiceVersion struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metadata `json:"metadata"`
	Spec            spec     `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
}

type spec struct {
	DisplayName    string        `json:"displayName"`
	Description    string        `json:"description"`
	Keywords       []string      `json:"keywords"`
	Version        string        `json:"version"`
	Maturity       string        `json:"maturity"`
	MinKubeVersion string        `json:"minKubeVersion"`
	Provider       provider      `json:"provider"`
	Links          []link        `json:"links"`
	InstallModes   []installMode `json:"installModes"`
	Definitions    definitions   `json:"customresourcedefinitions"`
	Install        install       `json:"install"`
}

type provider struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type installMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

type definitions struct {
	Owned []definition `json:"owned"`
}

type definition struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Kind        string `json:"kind"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

type install struct {
	Strategy string   `json:"strategy"`
	Spec     strategy `json:"spec"`
}

type strategy struct {
	Permissions        []permissions `json:"permissions"`
	ClusterPermissions []permissions `json:"clusterPermissions"`
	Deployments        []deployment  `json:"deployments"`
}

type permissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

type deployment struct {
	Name  string                `json:"name"`
	Label map[string]string     `json:"label"`
	Spec  appsv1.DeploymentSpec `json:"spec"`
}

const repositoryURL = "https://github.com/nodepools/nodepools"

// serviceVersion makes a ClusterServiceVersion of the objects of an installation.
func serviceVersion(tag, image string, objects []manifests.Object) (*clusterServiceVersion, error) {
	samples, err := samples()
	if err != nil {
		return nil, err
	}
	made := &clusterServiceVersion{
		TypeMeta: metav1.TypeMeta{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion"},
		Metadata: metadata{
			Name:   manifests.Name + "." + tag,
			Labels: labels(),
			Annotations: map[string]string{
				"alm-examples":   samples,
				"capabilities":   "Basic Install",
				"categories":     "Integration & Delivery",
				"containerImage": image,
				"description":    "GitOps for the node pools of a cluster",
				"repository":     repositoryURL,
				"operatorframework.io/suggested-namespace": manifests.DefaultNamespace,
			},
		},
		Spec: spec{
			DisplayName:    "nodepools",
			Description:    description,
			Keywords:       []string{"nodes", "gitops", "taints", "runtimeclass"},
			Version:        strings.TrimPrefix(tag, "v"),
			Maturity:       "alpha",
			MinKubeVersion: manifests.OldestKubernetes,
			Provider:       provider{Name: "nodepools", URL: repositoryURL},
			Links:          []link{{Name: "Documentation", URL: repositoryURL + "/tree/main/docs"}},
			InstallModes:   installModes,
		},
	}
	made.Spec.Install.Strategy = "deployment"
	for _, object := range objects {
		made.add(object)
	}
	return made, nil
}

// labels are those of each object, and what the image runs on: without these OLM offers the
// bundle to clusters of amd64 alone.
func labels() map[string]string {
	all := manifests.Labels()
	for _, platform := range []string{"os.linux", "arch.amd64", "arch.arm64"} {
		all["operatorframework.io/"+platform] = "supported"
	}
	return all
}

// add adds what the ClusterServiceVersion says of an object.
func (c *clusterServiceVersion) add(object manifests.Object) {
	in := &c.Spec.Install.Spec
	switch o := object.(type) {
	case *appsv1.Deployment:
		in.Deployments = append(in.Deployments, deployment{Name: o.Name, Label: o.Labels, Spec: o.Spec})
	case *rbacv1.Role:
		in.Permissions = append(in.Permissions, permissions{ServiceAccountName: manifests.Name, Rules: o.Rules})
	case *rbacv1.ClusterRole:
		if placeOf(o) != inServiceVersion {
			return
		}
		// One entry for the account, with the rules of each of its roles.
		if len(in.ClusterPermissions) == 0 {
			in.ClusterPermissions = []permissions{{ServiceAccountName: manifests.Name}}
		}
		in.ClusterPermissions[0].Rules = slices.Concat(in.ClusterPermissions[0].Rules, o.Rules)
	case *apiextensionsv1.CustomResourceDefinition:
		c.Spec.Definitions.Owned = append(c.Spec.Definitions.Owned, definition{
			Name: o.Name, Version: o.Spec.Versions[0].Name, Kind: o.Spec.Names.Kind,
			DisplayName: o.Spec.Names.Kind, Description: o.Spec.Versions[0].Schema.OpenAPIV3Schema.Description,
		})
	}
}

// installModes allow an OperatorGroup of the namespace of the controller alone: with one of
// all namespaces OLM makes ClusterRoles of Roles, and the controller could read every Secret.
// What it works on belongs to no namespace.
var installModes = []installMode{
	{Type: "OwnNamespace", Supported: true},
	{Type: "SingleNamespace"},
	{Type: "MultiNamespace"},
	{Type: "AllNamespaces"},
}

const description = `nodepools follows NodePool files in a Git repository, and gives nodes the labels,
annotations and taints of the pools that they are in, and pods a RuntimeClass for each pool.

Before it is installed, an administrator applies apply-first.yaml of the bundle: admission
policies, which OLM does not install, without which a node can forge its record.
`

// samples are objects to begin with, as the annotation has them.
func samples() (string, error) {
	text, err := json.Marshal([]any{
		map[string]any{
			"apiVersion": "nodes.lailin.xyz/v1", "kind": "NodePool", "metadata": map[string]string{"name": "gpu"},
			"spec": map[string]any{"taints": []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
		},
		map[string]any{
			"apiVersion": "nodes.lailin.xyz/v1", "kind": "NodePoolSource", "metadata": map[string]string{"name": "platform"},
			"spec": map[string]any{"url": "https://git.example.com/platform", "path": "pools"},
		},
	})
	if err != nil {
		return "", fmt.Errorf("write samples: %w", err)
	}
	return string(text), nil
}
