package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

// story is shown from the first chapter to the last; each builds on those before.
var story = []struct {
	title string
	show  func(*stage)
}{
	{"Twenty nodes, and what Kubernetes knows of their pools", before},
	{"Install nodepools", install},
	{"Point it at a Git repository", follow},
	{"A pod that says nothing but runtimeClassName", pod},
	{"A change on a branch, and what it would do", review},
	{"The change is merged", merge},
	{"A change that evicts pods, and a review that says so", evict},
	{"The taint is merged, and the pods go", evicted},
	{"A node joins", join},
	{"Somebody changes nodes by hand", drift},
	{"Two want different values for one label", conflict},
	{"A change that breaks the first node, and no other", rollout},
	{"A pool is removed from Git", remove},
}

const (
	masterFile  = "pools/master.yaml"
	generalFile = "pools/general.yaml"
	canaryFile  = "pools/canary.yaml"

	source = "nodepoolsources.nodes.lailin.xyz"
	pools  = "nodepools.nodes.lailin.xyz"
)

func before(s *stage) { s.showHead("kubectl get nodes", 9) }

// install applies what nodepools install prints, and starts the controller beside the
// cluster with the rights that it would have inside.
func install(s *stage) {
	s.say("nodepools install prints all that an administrator applies. There are no containers on this cluster, so all but the Deployment is applied, and the controller is a process of its own, with the token of its ServiceAccount and no other rights than its RBAC gives.")
	printed := s.quietly("nodepools install --webhook --image registry.example.com/nodepools:demo")
	if s.err != nil {
		return
	}
	installed, err := program.ReadInstallation(printed)
	if err != nil {
		s.fail(err)
		return
	}
	s.write("../install.yaml", installed.Manifests)
	s.show("kubectl apply --server-side -f ../install.yaml -o name")
	s.quietly("kubectl wait --for=condition=Established --timeout=30s crd/" + pools + " crd/" + source)
	_, kubeconfig, err := s.cluster.ServiceAccount(s.ctx, installed.Account.Namespace, installed.Account.Name)
	if err == nil {
		err = os.Rename(kubeconfig, filepath.Join(s.work, "..", "controller.kubeconfig"))
	}
	s.fail(err)
	// The usual ports may be in use on this machine.
	s.showCommand("nodepools run --kubeconfig ../controller.kubeconfig \\\n" +
		"    --metrics-bind-address 0 --health-probe-bind-address 0 \\\n" +
		"    --webhook-bind-address 127.0.0.1:0 &")
	if s.err != nil {
		return
	}
	s.controller, err = program.Start(s.program, s.work, filepath.Join(s.dir, "controller.log"), []string{
		"run", "--kubeconfig", "../controller.kubeconfig", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--webhook-bind-address", "127.0.0.1:0",
	}, s.env, s.end)
	s.fail(err)
}

func follow(s *stage) {
	s.say("The repository holds one file per pool. This one is a whole pool; its members are the nodes with the role label, as nothing else is said:")
	s.show("ls pools/*.yaml")
	s.show("cat " + masterFile)
	s.say("The Git server is to report each push, so that nobody has to wait for a poll. Its reports are signed with a token:")
	s.env = append(s.env, "TOKEN="+s.git.signature)
	s.show("kubectl create secret generic push -n nodepools-system \\\n" +
		"    --type=nodes.lailin.xyz/webhook --from-literal=token=\"$TOKEN\"")
	s.write("../source.yaml", "apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\nmetadata:\n  name: platform\nspec:\n  url: "+s.git.URL+"/platform.git\n"+
		"  ref: {branch: main}\n  path: pools\n  interval: 10m\n  webhook: {secretRef: {name: push}}\n  secretRef: {name: platform}\n")
	s.show("cat ../source.yaml && kubectl apply -f ../source.yaml")
	s.logIn()
	took := s.untilPools()
	s.reportPushes()
	s.say("After %s, every node carries what its pools say. The ROLES column shows the pools; worker-01 is in two, and so are the nodes of the pool within gpu.", seconds(took))
	s.show("kubectl get " + pools)
	s.show("kubectl get nodes")
}

// logIn shows what a source says whose credential is missing, and creates it.
func (s *stage) logIn() {
	s.until("the source to say that its Secret does not exist", func() error {
		if says := s.sourceSays(); !strings.Contains(says, "does not exist") {
			return fmt.Errorf("it says: %s", says)
		}
		return nil
	})
	s.say("The repository is private: its server demands a token, and has a certificate of an authority that nobody knows. The source says what is missing:")
	s.show("kubectl get " + source + " platform \\\n" +
		"    -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].message}' \\\n" +
		"    | fold -s -w 72; echo")
	s.say("A Secret with the keys of Flux has both, and says where they may be sent:")
	s.show("kubectl create secret generic platform -n " + manifests.DefaultNamespace + " \\\n" +
		"    --from-literal=username=" + gitUser + " --from-file=password=../token \\\n" +
		"    --from-file=../ca.crt")
	s.show("kubectl annotate secret platform -n " + manifests.DefaultNamespace + " \\\n" +
		"    " + v1.URLPrefixAnnotation + "=" + s.git.URL)
}

var listeningAt = regexp.MustCompile(`receiving webhooks.* address=(\S+:\d+)`)

// reportPushes gives the Git server the URL of the source's webhook.
func (s *stage) reportPushes() {
	s.quietly("kubectl wait --for=condition=WebhookReady --timeout=30s " + source + "/platform")
	s.say("The path of the URL is in the status of the source. URL and token go into the form of the Git server for webhooks:")
	path := s.show("kubectl get " + source + " platform \\\n    -o jsonpath='{.status.webhookPath}{\"\\n\"}'")
	s.until("the controller to receive webhooks", func() error {
		log, err := os.ReadFile(filepath.Join(s.dir, "controller.log"))
		if err != nil {
			return err
		}
		found := listeningAt.FindSubmatch(log)
		if found == nil {
			return fmt.Errorf("its log has no address")
		}
		hook := "http://" + string(found[1]) + strings.TrimSpace(path)
		s.git.hook.Store(&hook)
		return nil
	})
}

var comment = regexp.MustCompile(`(?m)^ *#.*\n`)

func pod(s *stage) {
	manifest, err := os.ReadFile("examples/pod.yaml")
	s.fail(err)
	s.write("../pod.yaml", comment.ReplaceAllString(string(manifest), ""))
	s.show("cat ../pod.yaml && kubectl apply -f ../pod.yaml")
	s.show("kubectl run web --image=registry.example.com/web:1.0")
	s.quietly("kubectl wait --for=jsonpath='{.status.phase}'=Running --timeout=45s pod/inference pod/web")
	s.say("The RuntimeClass brought node selector and toleration. The pod that names no pool stays off the tainted nodes.")
	shown := s.show("kubectl get pods \\\n" +
		"    -o custom-columns=POD:metadata.name,PHASE:status.phase,NODE:spec.nodeName")
	for _, want := range []string{`inference +Running +gpu-[12]\n`, `web +Running +worker-\d+\n`} {
		if !regexp.MustCompile(want).MatchString(shown) {
			s.fail(fmt.Errorf("expected %s", want))
		}
	}
}

func review(s *stage) {
	s.show("git checkout -q -b master-10")
	s.say("In an editor, one label of the pool gets another value and one goes:")
	s.change(masterFile, `master": "8"`, `master": "10"`, "    \"node-pool.lailin.xyz/test\": \"2\"\n", "")
	s.show("git commit -q -a -m 'master: 10, no test'")
	s.say("nodepools diff says what the branch would do to the cluster, with the same code that would do it. It changes nothing, and ends with exit code 1 because there is a difference.")
	s.showing("nodepools diff pools", 0, 1)
}

func merge(s *stage) {
	s.show("git checkout -q main && git merge -q master-10 && git push -q")
	took := s.untilNodes("the three masters to follow", []string{"cp-1", "cp-2", "cp-3"}, func(node *corev1.Node) error {
		if err := labelled("node-pool.lailin.xyz/test", "")(node); err != nil {
			return err
		}
		return labelled("node-pool.lailin.xyz/master", "10")(node)
	})
	s.say("%s after the push, which a webhook has reported, the nodes have followed:", seconds(took))
	s.show("kubectl get nodes -l node-role.kubernetes.io/master= \\\n" +
		"    -L node-pool.lailin.xyz/master,node-pool.lailin.xyz/test")
}

func join(s *stage) {
	s.write("../worker-11.yaml", manifest("worker-11"))
	s.say("Its name matches worker-*, so it is in the pool general from the start.")
	took := s.reaction("worker-11", "kubectl create -f ../worker-11.yaml",
		func(*corev1.Node) error { return nil }, labelled("example.com/tier", "general"))
	s.say("It had its labels %s after it was there: nobody waits for the next look at Git.", millis(took))
	s.show("kubectl get node worker-11 -L example.com/tier,example.com/os-channel")
}

func drift(s *stage) {
	label := s.reaction("worker-03", "kubectl label --overwrite node worker-03 example.com/tier=mine",
		labelled("example.com/tier", "mine"), labelled("example.com/tier", "general"))
	taint := s.reaction("gpu-1", "kubectl taint node gpu-1 example.com/dedicated-",
		taintedBy("example.com/dedicated", 0), taintedBy("example.com/dedicated", 1))
	s.say("The label was put back after %s, the taint after %s.", millis(label), millis(taint))
	s.show("kubectl get nodes worker-03 gpu-1 -L example.com/tier")
	s.show("kubectl get node gpu-1 -o jsonpath='{.spec.taints}{\"\\n\"}'")
}

func conflict(s *stage) {
	s.say("The team that makes backups has labelled a node. Later, the pool of that node comes to want another value.")
	s.show("kubectl label node worker-05 example.com/backup=daily --field-manager=backup")
	s.change(generalFile, "    example.com/os-channel: stable\n", "    example.com/os-channel: stable\n    example.com/backup: weekly\n")
	s.show("git commit -q -a -m 'general: weekly backups' && git push -q")
	s.until("the pool general to report a conflict", func() error {
		var pool v1.NodePool
		if err := s.client.Get(s.ctx, client.ObjectKey{Name: "general"}, &pool); err != nil {
			return err
		}
		if n := pool.Status.Nodes; pool.Status.ObservedGeneration != pool.Generation || n.Conflicted != 1 || n.Updated != n.Desired-1 {
			return fmt.Errorf("its status is %+v", pool.Status)
		}
		return nil
	})
	s.say("The pool leaves what is not its own, and says so; its other nodes follow.")
	s.show("kubectl get " + pools + " general")
	s.say("explain says whose each key of that node is, who has set it, and what a pool wants instead:")
	s.show("nodepools explain node worker-05")
	s.say("The teams agree on weekly, and the label that is in the way goes.")
	took := s.reaction("worker-05", "kubectl label node worker-05 example.com/backup-",
		func(node *corev1.Node) error {
			if node.Labels["example.com/backup"] == "daily" {
				return fmt.Errorf("it is still as before")
			}
			return nil
		}, labelled("example.com/backup", "weekly"))
	s.untilPools()
	s.say("%s later the node has that of the pool. A pool that is to prevail would have said conflictPolicy: TakeOver.", millis(took))
	s.show("kubectl get node worker-05 -L example.com/backup")
}

// rollout shows a canary that fails: nothing follows it, and the revert reaches it alone.
func rollout(s *stage) {
	const (
		general   = "kubectl get nodes -l example.com/tier=general -L example.com/backup"
		condition = "kubectl wait --timeout=45s " + pools + "/general --for=jsonpath='{.status.conditions[?(@.type==\"%s\")].reason}'=%s"
	)
	s.say("From now on, changes of the pool general begin with one node, and the others follow half an hour later.")
	s.change(generalFile, "spec:\n", "spec:\n  rollout:\n    maxUnavailable: 2\n    waves: [{name: canary, nodes: 1, soak: 30m}]\n")
	s.show("git commit -q -a -m 'general: a canary first' && git push -q")
	s.untilPools()
	s.quietly("sed -i.old 's/backup: weekly/backup: nightly/' " + generalFile + " && rm " + generalFile + ".old")
	s.show("git commit -q -a -m 'general: nightly backups' && git push -q")
	s.quietly(fmt.Sprintf(condition, v1.ReconcilingCondition, v1.SoakingReason))
	s.showHead(general, 4)
	s.say("Nightly backups are too much for the canary, and it breaks:")
	s.show("kubectl annotate node worker-01 " + cluster.BrokenAnnotation + "=yes")
	s.quietly(fmt.Sprintf(condition, v1.StalledCondition, v1.RolloutHaltedReason))
	s.say("The rollout is halted, and stays halted when the node is ready again:")
	s.show("kubectl annotate node worker-01 " + cluster.BrokenAnnotation + "-")
	s.quietly("kubectl wait --for=condition=Ready --timeout=45s node/worker-01")
	s.showing("nodepools status general", 0, 1)
	s.say("The revert waits for no wave and no soak. The other nodes never had the change:")
	s.show("git revert --no-edit HEAD >/dev/null && git push -q")
	took := s.untilNodes("the canary to be as before", []string{"worker-01"}, labelled("example.com/backup", "weekly"))
	s.untilPools()
	s.say("%s after the push the canary is what it was.", seconds(took))
	s.showHead(general, 4)
}

func remove(s *stage) {
	s.say("First, another team leaves a mark of its own on a node of the pool.")
	s.show("kubectl label node edge-1 rack=b7")
	s.show("git rm -q pools/edge.yaml && git commit -q -m 'no edge pool' && git push -q")
	took := s.untilNodes("the edge nodes to be as they were before there was a pool", []string{"edge-1", "edge-2", "edge-3"}, func(node *corev1.Node) error {
		bare := s.bare[node.Name]
		labels := maps.Clone(node.Labels)
		delete(labels, "rack")
		if !maps.Equal(labels, bare.Labels) || !maps.Equal(node.Annotations, bare.Annotations) || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it carries %v, %v and %v", node.Labels, node.Annotations, node.Spec.Taints)
		}
		return nil
	})
	s.untilPools()
	s.say("%s after the push, nothing of the pool is left on its nodes. What somebody else has put there stays.", seconds(took))
	s.show("kubectl get " + pools)
	s.show("kubectl get nodes edge-1 edge-2 edge-3 -L rack,example.com/tier")
}
