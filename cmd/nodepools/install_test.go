package main

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestImageNames(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for image, valid := range map[string]bool{
		"nodepools":    true,
		"nodepools:v1": true,
		"ghcr.io/nodepools/nodepools:v1.2.3-4-gab":    true,
		"localhost:5000/nodepools":                    true,
		"registry.example.com/a/b__c/d-e:v1" + digest: true,
		"nodepools" + digest:                          true,
		"":                                            false,
		"Nodepools":                                   false,
		"nodepools:":                                  false,
		"nodepools:v1+dirty":                          false,
		"nodepools@sha256:short":                      false,
		"nodepools v1":                                false,
		"nodepools\nmalicious: true":                  false,
		"https://ghcr.io/nodepools/nodepools":         false,
	} {
		if imageName.MatchString(image) != valid {
			t.Errorf("image %q: valid is %t", image, !valid)
		}
	}
}

// The order matters: Kubernetes takes the first toleration that fits a taint,
// and the one for everything has no time in it.
func TestControllerLeavesALostNode(t *testing.T) {
	taints := map[string]*int64{}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, "a-pool-s-own"} {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
		list := tolerations()
		first := slices.IndexFunc(list, func(toleration corev1.Toleration) bool {
			return (toleration.Key == "" || toleration.Key == taint.Key) && (toleration.Effect == "" || toleration.Effect == taint.Effect)
		})
		if first < 0 {
			t.Fatalf("taint %s is not tolerated", key)
		}
		taints[key] = list[first].TolerationSeconds
	}
	if taints[corev1.TaintNodeNotReady] == nil || taints[corev1.TaintNodeUnreachable] == nil {
		t.Error("a node that is lost is never left")
	}
	if seconds := taints["a-pool-s-own"]; seconds != nil {
		t.Errorf("the taint of a pool drives the controller out after %d seconds", *seconds)
	}
}
