//go:build deps

package deps

import (
	_ "github.com/go-git/go-git/v5"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/Masterminds/semver/v3"
	_ "k8s.io/api/node/v1"
	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	_ "k8s.io/apimachinery/pkg/util/validation"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/klog/v2"
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
	_ "sigs.k8s.io/kustomize/kyaml/kio"
	_ "sigs.k8s.io/kustomize/kyaml/fn/framework"
	_ "sigs.k8s.io/yaml"
	_ "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	_ "k8s.io/utils/ptr"
	_ "golang.org/x/crypto/ssh"
	_ "go.uber.org/zap"
)
