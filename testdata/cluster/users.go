package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// AddUser returns the configuration of a user who is known by a client
// certificate. A kubelet is system:node:<node name> in group system:nodes.
// The user has the rights which role bindings give to the name and the groups.
func (c *Cluster) AddUser(name string, groups ...string) (*rest.Config, error) {
	cert, key, err := c.authority.user(name, groups)
	if err != nil {
		return nil, fmt.Errorf("add user %s: %w", name, err)
	}
	config := rest.CopyConfig(c.Config)
	config.CertData, config.KeyData = cert, key
	return config, nil
}

// ServiceAccount returns the configuration and the kubeconfig file of a service
// account, with a token that is valid for a day. The account is created when it
// is not there; its namespace must exist.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, string, error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, "", fmt.Errorf("make a client: %w", err)
	}
	accounts := client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, "", fmt.Errorf("create service account %s/%s: %w", namespace, name, err)
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 60 * 60)},
	}
	token, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("request a token for service account %s/%s: %w", namespace, name, err)
	}
	config := rest.CopyConfig(c.Config)
	config.CertData, config.KeyData = nil, nil
	config.BearerToken = token.Status.Token
	path, err := c.WriteKubeconfig(config)
	return config, path, err
}

// WriteKubeconfig writes a kubeconfig file with what config authenticates by,
// and returns its path. The file goes away with the cluster.
func (c *Cluster) WriteKubeconfig(config *rest.Config) (string, error) {
	const name = "nodepools"
	file := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   config.Host,
			CertificateAuthorityData: config.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData,
			ClientKeyData:         config.KeyData,
			Token:                 config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	c.mu.Lock()
	c.files++
	path := filepath.Join(c.dir, fmt.Sprintf("kubeconfig-%d", c.files))
	c.mu.Unlock()
	if err := clientcmd.WriteToFile(file, path); err != nil {
		return "", fmt.Errorf("write a kubeconfig file: %w", err)
	}
	return path, nil
}

// withCodec completes a configuration for requests that are not about objects.
func withCodec(config *rest.Config) *rest.Config {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}
