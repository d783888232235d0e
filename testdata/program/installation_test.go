package program

import (
	"strings"
	"testing"
)

const installed = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: nodepools
  namespace: nodepools-system
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nodepools
---
apiVersion: v1
kind: Namespace
metadata:
  name: nodepools-system
`

func TestReadInstallation(t *testing.T) {
	i, err := ReadInstallation(installed)
	if err != nil {
		t.Fatal(err)
	}
	if i.Account.Name != "nodepools" || i.Account.Namespace != "nodepools-system" {
		t.Errorf("account is %s/%s", i.Account.Namespace, i.Account.Name)
	}
	if i.Deployment.Name != "nodepools" {
		t.Errorf("deployment is %q", i.Deployment.Name)
	}
	if strings.Contains(i.Manifests, "Deployment") || !strings.Contains(i.Manifests, "ServiceAccount") || !strings.Contains(i.Manifests, "kind: Namespace") {
		t.Errorf("manifests are\n%s", i.Manifests)
	}
}

func TestReadInstallationWithoutServiceAccount(t *testing.T) {
	_, manifests, _ := strings.Cut(installed, "---\n")
	if _, err := ReadInstallation(manifests); err == nil {
		t.Error("there is no ServiceAccount in it, and no error")
	}
}
