package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// cause is what alerts are for. Happens brings it about, and returns what mends it.
type cause struct {
	name    string
	happens func() (mend func())
	// alerts are those that fire by it, and no others.
	alerts []string
}

// causes are those of all alerts but that of a rollout that is late, which takes a minute.
func (w *watched) causes() []cause {
	return []cause{
		{"a repository is not there", w.repositoryMissing, []string{"NodePoolsSourceNotReady"}},
		{"a repository answers no more", w.repositoryGoes, []string{"NodePoolsSourceNotReady", "NodePoolsSourceStale"}},
		{"all pools vanish from Git", w.poolsVanish, []string{"NodePoolsPruneHeld"}},
		{"a pool is in one that does not exist", w.parentMissing, []string{"NodePoolsPoolNotReady"}},
		{"a node is paused", w.nodePaused, []string{"NodePoolsNodesFailing"}},
		{"a record is spoiled", w.recordSpoiled, []string{"NodePoolsNodesFailing", "NodePoolsRecordUnreadable"}},
		{"a node cannot be written", w.writesRefused, []string{"NodePoolsConvergenceSlow", "NodePoolsNodesFailing"}},
		{"somebody fights", w.somebodyFights, []string{"NodePoolsFighting"}},
		{"a certificate expires", w.certificateExpires, []string{"NodePoolsCredentialExpiring"}},
		{"a node fails by a change", w.rolloutHalts, []string{"NodePoolsRolloutHalted"}},
		{"somebody else holds the lease", w.leaseTaken, []string{"NodePoolsNoLeader"}},
		{"Prometheus may not read", w.mayNotRead, []string{"NodePoolsDown"}},
	}
}

func (w *watched) repositoryMissing() func() {
	w.source("gone", "file://"+filepath.Join(w.t.TempDir(), "nothing"))
	return func() { w.do(w.Delete(w.t.Context(), &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "gone"}})) }
}

func (w *watched) repositoryGoes() func() {
	w.do(os.Rename(w.repository, w.repository+".away"))
	return func() {
		w.do(os.Rename(w.repository+".away", w.repository))
		w.poll("fleet")
	}
}

func (w *watched) poolsVanish() func() {
	w.git("rm", "--quiet", "gpu.yaml", "cpu.yaml")
	w.commit(map[string]string{"other.yaml": poolFile("other", "runc")})
	return func() {
		w.commit(map[string]string{"gpu.yaml": poolFile("gpu", "runc"), "cpu.yaml": poolFile("cpu", "runc")})
	}
}

func (w *watched) parentMissing() func() {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}, Spec: v1.NodePoolSpec{Parent: "nobody"}}
	w.do(w.Create(w.t.Context(), pool))
	return func() { w.do(w.Delete(w.t.Context(), pool)) }
}

func (w *watched) nodePaused() func() {
	w.annotate("n2", v1.ReconcileAnnotation, `"`+v1.Disabled+`"`)
	return func() { w.annotate("n2", v1.ReconcileAnnotation, "null") }
}

func (w *watched) recordSpoiled() func() {
	var node corev1.Node
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: "n2"}, &node))
	w.annotate("n2", v1.AppliedAnnotation, `"?"`)
	return func() {
		node.ResourceVersion = ""
		w.do(w.Update(w.t.Context(), &node))
	}
}

// refusesSlow refuses each update of a node.
const refusesSlow = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: slow}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes], resourceNames: [slow]}]}
  validations: [{expression: "false", message: said by a policy of others}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: slow}
spec: {policyName: slow, validationActions: [Deny]}
`

func (w *watched) writesRefused() func() {
	w.node("slow", "slow")
	if out, err := w.c.Apply(w.t.Context(), refusesSlow); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}
	w.until("the policy is in force", func() error {
		if err := w.Patch(w.t.Context(), node.DeepCopy(), label, client.DryRunAll); err != nil {
			return nil
		}
		return errNotYet
	})
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"slow": "1"}}}
	w.do(w.Create(w.t.Context(), pool))
	return func() {
		w.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "slow")
		w.until("the policy is in force no more", func() error { return w.Patch(w.t.Context(), node.DeepCopy(), label) })
		w.labelled("slow", "slow", "1")
	}
}

func (w *watched) somebodyFights() func() {
	w.node("fought", "fought")
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "fought"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"key": "ours"}}}
	w.do(w.Create(w.t.Context(), pool))
	w.labelled("fought", "key", "ours")
	w.until("somebody fights", func() error {
		w.label("fought", "key", "theirs")
		return w.server.has(`nodepools_status_condition{name="fought",type="Contested",status="True"}`)
	})
	return func() { w.patch(pool, `{"spec":{"labels":null}}`) }
}

// certificateExpires has a source read its repository with a certificate that expires tomorrow.
func (w *watched) certificateExpires() func() {
	other := newStory(w.t, w.c)
	other.commit(map[string]string{"mutual.yaml": poolFile("mutual", "runc")})
	git, err := exec.LookPath("git")
	w.do(err)
	server := httptest.NewUnstartedServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
		Env: []string{"GIT_PROJECT_ROOT=" + other.repository, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	})
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	url := server.URL + "/.git"
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: "mutual", Annotations: map[string]string{v1.URLPrefixAnnotation: url}},
		Data:       w.clientCertificate(24 * time.Hour),
	}
	secret.Data["ca.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.do(w.Create(w.t.Context(), secret))
	w.source("mutual", url, func(source *v1.NodePoolSource) { source.Spec.SecretRef = &v1.SecretRef{Name: "mutual"} })
	w.until("the repository is read", func() error {
		return w.server.has(`nodepools_status_condition{kind="NodePoolSource",name="mutual",type="Ready",status="True"}`)
	})
	return func() {
		for key, value := range w.clientCertificate(365 * 24 * time.Hour) {
			secret.Data[key] = value
		}
		w.do(w.Update(w.t.Context(), secret))
	}
}

// clientCertificate is one that signs itself, with its key, as a Secret has them.
func (w *watched) clientCertificate(valid time.Duration) map[string][]byte {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.do(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(valid), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.do(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	w.do(err)
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// leaseTaken gives the lease to somebody who renews it for an hour.
func (w *watched) leaseTaken() func() {
	w.kubectl("-n", manifests.DefaultNamespace, "patch", "lease", v1.LeaseName, "--type", "merge",
		"--patch", `{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":3600}}`)
	return func() { w.kubectl("-n", manifests.DefaultNamespace, "delete", "lease", v1.LeaseName) }
}

func (w *watched) mayNotRead() func() {
	w.token(w.stranger)
	return func() { w.token(w.reader) }
}
