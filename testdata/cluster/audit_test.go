package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestAuditShowsWhoDidWhat(t *testing.T) {
	c := Shared(t)
	config, kubeconfig, err := c.ServiceAccount(t.Context(), "default", "writer")
	if err != nil {
		t.Fatal(err)
	}
	const user = "system:serviceaccount:default:writer"
	admin, writer := clientFor(t, c.Config), clientFor(t, config)
	apply(t, c, `{apiVersion: v1, kind: Node, metadata: {name: audited}}`)

	mark, err := c.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	counted, err := c.RequestCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	label := func(dryRun ...string) error {
		node := corev1apply.Node("audited").WithLabels(map[string]string{"a": "b"})
		_, err := writer.CoreV1().Nodes().Apply(t.Context(), node, metav1.ApplyOptions{FieldManager: "tester", DryRun: dryRun})
		return err
	}
	if err := label(); !apierrors.IsForbidden(err) {
		t.Fatalf("a user without rights was not refused: %v", err)
	}
	if _, err := c.Kubectl(t.Context(), "--kubeconfig", kubeconfig, "get", "nodes"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Fatalf("kubectl as a user without rights was not refused: %v", err)
	}
	bind := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "writer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "writer"}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), bind, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.RbacV1().ClusterRoleBindings().Delete(context.Background(), bind.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	Eventually(t, "the user may write", timeout, func() error { return label(metav1.DryRunAll) })
	if err := label(); err != nil {
		t.Fatal(err)
	}

	requests, err := c.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range WritesBy(user, requests) {
		got = append(got, fmt.Sprintf("%s with %s", r, r.FieldManager))
	}
	want := []string{
		"patch nodes/audited by " + user + ": 403 with tester",
		"patch nodes/audited by " + user + ": 200 with tester",
	}
	if !slices.Equal(got, want) {
		t.Errorf("writes are %q, want %q", got, want)
	}
	if !slices.ContainsFunc(requests, func(r Request) bool {
		return r.User == user && r.Verb == "list" && r.Object.Resource == "nodes" && r.Code == http.StatusForbidden
	}) {
		t.Error("the refused list of nodes is missing")
	}
	if !slices.ContainsFunc(WritesBy("", requests), func(r Request) bool {
		return r.User == "admin" && r.String() == "create clusterrolebindings/writer by admin: 201"
	}) {
		t.Errorf("the administrator's write is missing in %v", WritesBy("", requests))
	}

	Eventually(t, "the writes are counted", timeout, func() error {
		now, err := c.RequestCounts(t.Context())
		if err != nil {
			return err
		}
		kind := RequestKind{Verb: "APPLY", Resource: "nodes", Code: "200"}
		if n := now.Since(counted).Writes()[kind]; n != 1 {
			return fmt.Errorf("%d applies to nodes, want 1: %v", n, now.Since(counted).Writes())
		}
		return nil
	})
}

func TestKubeletIsRestricted(t *testing.T) {
	c := Shared(t)
	config, err := c.AddUser("system:node:kubelet", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, `{apiVersion: v1, kind: Node, metadata: {name: kubelet}}`)
	nodes := clientFor(t, config).CoreV1().Nodes()
	annotate := []byte(`{"metadata":{"annotations":{"a":"b"}}}`)
	if _, err := nodes.Patch(t.Context(), "kubelet", types.MergePatchType, annotate, metav1.PatchOptions{}); err != nil {
		t.Errorf("a kubelet annotates its node: %v", err)
	}
	taint := []byte(`{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`)
	if _, err := nodes.Patch(t.Context(), "kubelet", types.MergePatchType, taint, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet changed its taints: %v", err)
	}
}

func TestAuditIsOptIn(t *testing.T) {
	c := &Cluster{}
	if _, err := c.AuditMark(); err == nil {
		t.Error("a mark in no audit log")
	}
	if _, err := c.Audit(0); err == nil {
		t.Error("requests in no audit log")
	}
}

func TestAuditReadsWholeLines(t *testing.T) {
	const received = `{"auditID":"1","stage":"RequestReceived","verb":"patch","user":{"username":"u"},"objectRef":{"resource":"nodes","name":"a"}}`
	const answered = `{"auditID":"1","stage":"ResponseComplete","verb":"patch","user":{"username":"u"},"objectRef":{"resource":"nodes","name":"a"},"responseStatus":{"code":200}}`
	first := "patch nodes/a by u: "
	for name, tc := range map[string]struct {
		reason string
		log    string
		mark   int64
		want   []string
	}{
		"being served":  {"a request shows before it is answered", received + "\n", 0, []string{first + "0"}},
		"answered":      {"two entries are one request", received + "\n" + answered + "\n", 0, []string{first + "200"}},
		"half a line":   {"the server is writing it", received + "\n" + answered[:20], 0, []string{first + "0"}},
		"after a line":  {"the request arrived before the mark", received + "\n" + answered + "\n", int64(len(received) + 1), nil},
		"within a line": {"the mark was taken while a line was written", received + "\n" + answered + "\n", 10, nil},
		"before it":     {"the mark is where the log ended", answered + "\n" + received + "\n" + answered + "\n", int64(len(answered) + 1), []string{first + "200"}},
		"torn":          {"an API server was killed while it wrote a line", received[:20] + `{"kind":"Event",` + answered[1:] + "\n", 0, []string{first + "200"}},
		"at the end":    {"nothing happened since", received + "\n", int64(len(received) + 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{auditLog: filepath.Join(t.TempDir(), "audit.log")}
			write(t, c.auditLog, tc.log)
			requests, err := c.Audit(tc.mark)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range requests {
				got = append(got, r.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
