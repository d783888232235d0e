package program

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Installation is what nodepools install prints, for a cluster that runs no
// containers: the program then runs beside it, as the Deployment would run it.
type Installation struct {
	// Manifests are all objects except for the Deployment.
	Manifests string
	// Account is the ServiceAccount that the program runs as.
	Account *corev1.ServiceAccount
	// Deployment that Manifests omit.
	Deployment *appsv1.Deployment
}

var documentEnd = regexp.MustCompile(`(?m)^---\n`)

// ReadInstallation reads what nodepools install prints.
func ReadInstallation(manifests string) (*Installation, error) {
	i := &Installation{Account: &corev1.ServiceAccount{}, Deployment: &appsv1.Deployment{}}
	var kept []string
	for _, document := range documentEnd.Split(manifests, -1) {
		var object struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, fmt.Errorf("read what nodepools install prints: %w", err)
		}
		switch object.Kind {
		case "Deployment":
			if err := yaml.Unmarshal([]byte(document), i.Deployment); err != nil {
				return nil, fmt.Errorf("read the Deployment: %w", err)
			}
			continue
		case "ServiceAccount":
			if err := yaml.Unmarshal([]byte(document), i.Account); err != nil {
				return nil, fmt.Errorf("read the ServiceAccount: %w", err)
			}
		}
		kept = append(kept, document)
	}
	if i.Account.Name == "" {
		return nil, errors.New("nodepools install prints no ServiceAccount")
	}
	i.Manifests = strings.Join(kept, "---\n")
	return i, nil
}
