package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (r *reader) workload(read *fileWorkload) error {
	owner, err := r.owner(read)
	if err != nil {
		return err
	}
	if read.Template != nil {
		template := Scheduling(*read.Template)
		if owner.IsDaemonSet() {
			if err := r.spend(len(r.inv.Nodes) * (1 + sizeOfScheduling(&template)) / workOfValue); err != nil {
				return err
			}
		}
		r.inv.Workloads = append(r.inv.Workloads, Workload{Owner: owner, Template: template})
	}
	for i := range read.Pods {
		if err := r.podGroup(read.Namespace, owner, &read.Pods[i]); err != nil {
			return fmt.Errorf("pods[%d]: %w", i, err)
		}
	}
	return nil
}

// owner returns what creates the pods of a workload, and refuses a duplicate;
// it is empty for pods that nothing creates.
func (r *reader) owner(read *fileWorkload) (Owner, error) {
	named := Owner{Group: groupOf(read.Group, read.Kind), Kind: read.Kind, Namespace: read.Namespace, Name: read.Name}
	bare := named == (Owner{Namespace: read.Namespace})
	switch {
	case !isName(read.Namespace):
		return Owner{}, fmt.Errorf("%s is not the name of a namespace", quote(read.Namespace))
	case bare && read.Template != nil:
		return Owner{}, errors.New("there is a template, and neither kind nor name of what makes pods of it")
	case !bare && (read.Kind == "" || read.Name == ""):
		// The API server does not require more of an owner reference.
		return Owner{}, errors.New("what makes pods has a kind and a name, and one of them is missing")
	case r.workloads[named] && bare:
		return Owner{}, fmt.Errorf("the pods of namespace %q that nothing makes are there twice", read.Namespace)
	case r.workloads[named]:
		return Owner{}, fmt.Errorf("%s %s of namespace %q is there twice", clip(read.Kind), quote(read.Name), read.Namespace)
	}
	r.workloads[named] = true
	if bare {
		return Owner{}, nil
	}
	return named, nil
}

// podGroup reads a group of equal pods. They share their maps and lists.
func (r *reader) podGroup(namespace string, owner Owner, group *filePods) error {
	scheduling := Scheduling(group.fileScheduling)
	if group.Defaults {
		scheduling.Tolerations = slices.Concat(scheduling.Tolerations, defaultTolerations, group.More)
	} else if group.More != nil {
		return errors.New("moreTolerations stand behind defaultTolerations, and there are none")
	}
	// They share everything except for the affinity, but each is processed separately.
	size := podValues + sizeOfScheduling(&scheduling) + len(group.Budgets)
	for _, line := range group.Pods {
		node, name, err := r.placeOf(group, line)
		if err != nil {
			return err
		}
		if r.pods[objectName{namespace, name}] {
			return fmt.Errorf("pod %q of namespace %s is there twice", name, quote(namespace))
		}
		r.pods[objectName{namespace, name}] = true
		if err := r.spend(size); err != nil {
			return err
		}
		pod := Pod{
			Namespace: namespace, Name: name, Node: node, Owner: owner, Scheduling: scheduling, Budgets: group.Budgets,
			Static: group.Static, Ready: !group.NotReady, Finished: group.Finished, Terminating: group.Terminating,
		}
		if group.Waiting {
			pod.Ready = false
			r.inv.Waiting = append(r.inv.Waiting, pod)
			continue
		}
		pod.Affinity = renamed(scheduling.Affinity, itself, node)
		r.inv.Pods = append(r.inv.Pods, pod)
	}
	return nil
}

// placeOf reads the node and the name of a pod; one that waits has no node.
func (r *reader) placeOf(group *filePods, line string) (node, name string, err error) {
	if group.Waiting {
		if name = group.Prefix + line; !isName(name) {
			return "", "", fmt.Errorf("%s is not the end of a pod's name", quote(line))
		}
		return "", name, nil
	}
	short, rest, hasRest := strings.Cut(line, " ")
	node, known := r.called.full(short)
	if !known {
		return "", "", fmt.Errorf("%s is not one of the nodes, or of several", quote(short))
	}
	if !hasRest {
		rest = node
	}
	if name = group.Prefix + rest; !isName(name) {
		return "", "", fmt.Errorf("%s is not a node and the end of a pod's name", quote(line))
	}
	return node, name, nil
}
