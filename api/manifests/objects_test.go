package manifests

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func everything(t *testing.T) []Object {
	t.Helper()
	all, err := All(Options{Namespace: DefaultNamespace, Image: DefaultRepository + ":v1", Webhook: true})
	if err != nil {
		t.Fatal(err)
	}
	return append(all, Viewer(DefaultNamespace)...)
}

// Whoever prints or packages an object does not have to know its Go type, and may
// change it: no other object has a part of it.
func TestObjectsStandAlone(t *testing.T) {
	for _, changed := range everything(t) {
		if changed.GetObjectKind().GroupVersionKind().Empty() {
			t.Errorf("%T %s does not say what kind it is of", changed, changed.GetName())
		}
	}
	all := everything(t)
	for i, changed := range all {
		for key := range changed.GetLabels() {
			changed.GetLabels()[key] = "changed"
		}
		for _, other := range all[i+1:] {
			for key, value := range other.GetLabels() {
				if value == "changed" {
					t.Errorf("%T %s shares its label %s with %T %s", other, other.GetName(), key, changed, changed.GetName())
				}
			}
		}
	}
}

// Roles are bound to the accounts of the same installation.
func TestRolesAreBoundToTheirAccounts(t *testing.T) {
	accounts := map[string]bool{}
	for _, object := range everything(t) {
		if account, ok := object.(*corev1.ServiceAccount); ok {
			accounts[account.Namespace+"/"+account.Name] = true
		}
	}
	for _, object := range everything(t) {
		var subjects []rbacv1.Subject
		switch binding := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			subjects = binding.Subjects
		case *rbacv1.RoleBinding:
			subjects = binding.Subjects
		default:
			continue
		}
		for _, subject := range subjects {
			if !accounts[subject.Namespace+"/"+subject.Name] {
				t.Errorf("%T %s is of %s/%s, which is not part of it", object, object.GetName(), subject.Namespace, subject.Name)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	valid := Options{Namespace: DefaultNamespace, Image: DefaultRepository + ":v1"}
	for name, test := range map[string]struct {
		options Options
		valid   bool
	}{
		"as it is by default":               {valid, true},
		"no namespace":                      {Options{Image: valid.Image}, false},
		"a namespace that no cluster takes": {Options{Namespace: "Nope", Image: valid.Image}, false},
		"no image":                          {Options{Namespace: valid.Namespace}, false},
		"an image with blanks":              {Options{Namespace: valid.Namespace, Image: "not an image"}, false},
	} {
		if err := test.options.Validate(); (err == nil) != test.valid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
