package main

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

func TestWithoutDeployment(t *testing.T) {
	kept, account, err := withoutDeployment(installed)
	if err != nil {
		t.Fatal(err)
	}
	if account.Name != "nodepools" || account.Namespace != "nodepools-system" {
		t.Errorf("account is %s/%s", account.Namespace, account.Name)
	}
	if strings.Contains(kept, "Deployment") || !strings.Contains(kept, "ServiceAccount") || !strings.Contains(kept, "kind: Namespace") {
		t.Errorf("kept is\n%s", kept)
	}
}

func TestWithoutServiceAccount(t *testing.T) {
	_, manifests, _ := strings.Cut(installed, "---\n")
	if _, _, err := withoutDeployment(manifests); err == nil {
		t.Error("there is no ServiceAccount in it, and no error")
	}
}
