package controller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/docs"
)

// TestGitCredentialsOfFluxAndArgoCD runs the commands of the README, as they stand there,
// on Secrets as Flux and Argo CD have them, of a GitHub App: a source that was refused
// follows its private repository after the third of them.
func TestGitCredentialsOfFluxAndArgoCD(t *testing.T) {
	w := newTokenWorld(t)
	url := w.issuers.URL + "/acme"
	section := docs.Cut(t, "### With a credential of Flux or Argo CD\n", "\n## ")
	blocks := docs.Page{Text: section}.Content().Blocks
	if len(blocks) != 2 {
		t.Fatalf("%d blocks, want one of Flux and one of Argo CD", len(blocks))
	}
	key, ca := string(w.app["githubAppPrivateKey"]), string(w.issuers.CA())
	for i, secret := range []*corev1.Secret{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "flux-system"},
			StringData: map[string]string{"githubAppID": "1234", "githubAppInstallationOwner": "acme", "githubAppPrivateKey": key, "githubAppBaseURL": w.issuers.URL + "/api/v3", "ca.crt": ca},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "platform-repo", Labels: map[string]string{"argocd.argoproj.io/secret-type": "repository"}},
			// Argo CD has authorities elsewhere; that of this server is added.
			StringData: map[string]string{"type": "git", "url": url + "/repo", "githubAppID": "1234", "githubAppInstallationID": "42", "githubAppEnterpriseBaseUrl": w.issuers.URL + "/api/v3", "githubAppPrivateKey": key, "ca.crt": ca},
		},
	} {
		t.Run(secret.Namespace, func(t *testing.T) {
			w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: secret.Namespace}})))
			// As an operator for Secrets has it: the garbage collector deletes a copy in
			// another namespace that says the same.
			owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: "sealed"}}
			w.do(w.Create(t.Context(), owner))
			secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
			w.do(w.Create(t.Context(), secret))
			pool := fmt.Sprint("migrated-", i)
			w.source("platform", url+"/repo")
			w.stands("platform", v1.FetchedCondition, metav1.ConditionFalse, "CertificateUntrusted")
			commands := blocks[i].Commands()
			if len(commands) != 3 {
				t.Fatalf("%d commands: %q", len(commands), commands)
			}
			for _, command := range commands {
				w.shell(t, strings.ReplaceAll(command, "https://git.example.com/platform", url))
			}
			copied := &corev1.Secret{}
			w.do(w.Get(t.Context(), client.ObjectKey{Namespace: manifests.DefaultNamespace, Name: secret.Name}, copied))
			if len(copied.OwnerReferences) > 0 || copied.Labels["argocd.argoproj.io/secret-type"] != "" {
				t.Errorf("the copy belongs to what is in another namespace: %v", copied.ObjectMeta)
			}
			w.follows("platform", w.repo.commit(files{"pools/" + pool + ".yaml": poolFile(pool, "0")}))
			w.wantNoToken("platform")
			w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "platform")
			w.repo.commit(files{"pools/" + pool + ".yaml": ""})
		})
	}
}

// shell runs a command as a reader of the documentation does.
func (w *tokenWorld) shell(t *testing.T, command string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.cluster.Kubeconfig(), "KUBERC=off", "HOME="+t.TempDir(),
		"PATH="+filepath.Dir(w.cluster.Program("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}
