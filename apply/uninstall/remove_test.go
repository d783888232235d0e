package uninstall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/plan"
)

func commandsOf(in Installation) (commands []string) {
	for _, step := range Of("s", plan.Cluster{}, nil, in).Steps {
		commands = append(commands, step.Command)
	}
	return commands
}

// What Helm has installed is removed by Helm, and then what it leaves.
func TestPlanOfAReleaseOfHelm(t *testing.T) {
	const (
		viewer      = "nodepools install --viewer --namespace there | kubectl delete --ignore-not-found -f -"
		definitions = "nodepools install --crds-only | kubectl delete --ignore-not-found -f -"
		lease       = "kubectl delete lease nodepools --namespace there --ignore-not-found"
		look        = `kubectl get "$(kubectl api-resources --namespaced --verbs=list -o name | paste -sd, -)" --namespace there --ignore-not-found -o name`
	)
	for reason, test := range map[string]struct {
		in   Installation
		want []string
	}{
		"its own namespace counts": {
			Installation{Namespace: "here", Definitions: true, Helm: &Release{"pools", "there"}},
			[]string{"helm uninstall pools --namespace there", viewer, definitions, lease, look},
		},
		"the definitions are gone already": {
			Installation{Namespace: "there", Helm: &Release{"pools", "there"}},
			[]string{"helm uninstall pools --namespace there", viewer, definitions, lease, look},
		},
		"its name is not known": {
			Installation{Namespace: "there", Definitions: true, Helm: &Release{}},
			[]string{"", viewer, definitions, lease, look},
		},
	} {
		if diff := cmp.Diff(test.want, commandsOf(test.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

// No step deletes a namespace, neither by name nor among other objects.
func TestNoStepDeletesANamespace(t *testing.T) {
	for _, in := range []Installation{here, {Namespace: "here", Definitions: true, Helm: &Release{"pools", "here"}}} {
		for _, command := range commandsOf(in) {
			whole := strings.HasPrefix(command, "nodepools install") && !strings.Contains(command, "--viewer") && !strings.Contains(command, "--crds-only")
			if strings.Contains(command, "delete namespace") || whole && !strings.Contains(command, "--create-namespace=false") {
				t.Errorf("%+v: %q deletes the namespace", in, command)
			}
		}
	}
}

func TestReleaseOf(t *testing.T) {
	helm := map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	release := func(name, namespace string) map[string]string {
		return map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
	}
	for reason, test := range map[string]struct {
		labels, annotations map[string]string
		want                *Release
	}{
		"of a release":                     {helm, release("pools", "platform"), &Release{"pools", "platform"}},
		"of none":                          {nil, nil, nil},
		"handed over from Helm to another": {map[string]string{"app.kubernetes.io/managed-by": "Kustomize"}, release("pools", "platform"), nil},
		"of one without a name":            {helm, nil, &Release{}},
		"a name that a shell would run":    {helm, release("x; rm -rf /", "platform"), &Release{}},
		"a namespace that is an option":    {helm, release("pools", "--all"), &Release{}},
	} {
		if diff := cmp.Diff(test.want, ReleaseOf(test.labels, test.annotations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
