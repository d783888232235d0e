package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

// actManager is the field manager of what the verbs write. That of the controller would let
// it take it off again.
const actManager = "nodepools-cli"

// pending is an object, and what the verb does about it.
type pending struct {
	object client.Object
	act    *plan.Act
}

// run shows what the verb does, asks, and does just that.
func (o *actOptions) run(ctx context.Context) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	api, err := observe.NewClient(server.Config())
	if err != nil {
		return err
	}
	shown, err := o.read(ctx, server, api)
	if err != nil {
		return err
	}
	if o.verb != pollSource {
		if err := o.show(shown, server); err != nil {
			return err
		}
		if err := o.confirm(ctx); err != nil {
			return err
		}
	}
	for next := shown; ; {
		err := o.write(ctx, api, next)
		if !apierrors.IsConflict(err) {
			return o.report(err, server)
		}
		// The controller writes statuses all the time. What was shown still has to be so.
		if next, err = o.read(ctx, server, api); err != nil {
			return err
		}
		if !reflect.DeepEqual(next.act, shown.act) {
			return hint.Add(fmt.Errorf("%s has changed since it was shown: nothing was written", o.subject()), "run the command again")
		}
	}
}

// read reads what the verb is about, and works out what it does.
func (o *actOptions) read(ctx context.Context, server *observe.Server, api client.Client) (*pending, error) {
	if o.source {
		return o.readSource(ctx, server, api)
	}
	progress, err := server.Progress(ctx)
	if err != nil {
		return nil, err
	}
	if progress.NodesUnread != nil {
		return nil, hint.Add(connect.Explain(progress.NodesUnread, server.Name(), o.cluster.timeout), "the user needs the right to list nodes: without it, it is not known what waits")
	}
	cluster := status.Cluster{Pools: progress.Pools, Nodes: make([]status.Node, len(progress.Nodes))}
	for i, node := range progress.Nodes {
		cluster.Nodes[i] = status.Node(node)
	}
	for _, pool := range progress.Pools {
		if pool.Name != o.name {
			continue
		}
		act, err := status.Act(o.verb, pool, cluster, time.Now())
		if err != nil {
			return nil, err
		}
		return &pending{pool, act}, nil
	}
	missing := progress.NoPool(o.name)
	if len(missing.Near) == 0 {
		return nil, hint.Add(missing, "'"+command.ListPools()+"' lists those that there are")
	}
	return nil, hint.Add(missing, "did you mean "+strings.Join(missing.Near, ", ")+"?")
}

func (o *actOptions) readSource(ctx context.Context, server *observe.Server, api client.Client) (*pending, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cluster.timeout)
	defer cancel()
	source := &v1.NodePoolSource{}
	err := api.Get(ctx, client.ObjectKey{Name: o.name}, source)
	switch {
	case apierrors.IsForbidden(err):
		return nil, hint.Add(connect.Explain(err, server.Name(), o.cluster.timeout), "the user needs the rights to get and to patch "+command.Sources)
	case err != nil:
		return nil, hint.Add(connect.Explain(err, server.Name(), o.cluster.timeout), "'"+command.ListSources()+"' lists the sources that there are")
	}
	if o.verb == pollSource {
		act, err := plan.AskForPoll(source, time.Now())
		return &pending{source, act}, err
	}
	act := plan.ApproveSource(source)
	if act.Empty() {
		return nil, hint.Add(fmt.Errorf("nothing of source %q waits for an approval", o.name), "its pools may: 'nodepools status' shows them")
	}
	return &pending{source, act}, nil
}

func (o *actOptions) subject() string {
	if o.source {
		return fmt.Sprintf("source %q", o.name)
	}
	return fmt.Sprintf("pool %q", o.name)
}

// show prints what waits, and what would be let through and written.
func (o *actOptions) show(shown *pending, server *observe.Server) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s in %s\n\n", sanitize.Line(o.subject()), sanitize.Line(server.Name()))
	for _, part := range []struct {
		name  string
		lines []string
	}{{"Waits:", shown.act.Waits}, {"Allows:", shown.act.Allows}, {"Writes:", shown.act.Writes()}} {
		for _, line := range part.lines {
			wrap.Hang(&text, fmt.Sprintf("%-9s", part.name), strings.Repeat(" ", 9), strings.Fields(sanitize.Line(line)))
		}
	}
	_, err := io.WriteString(o.std.out, text.String())
	return err
}

// errNotConfirmed says that the answer was no.
var errNotConfirmed = errors.New("not confirmed: nothing was written")

// confirm asks on the terminal whether it is meant.
func (o *actOptions) confirm(ctx context.Context) error {
	if o.yes {
		return nil
	}
	if o.ask != nil {
		return o.ask(ctx)
	}
	if !isInteractive(o.std.in) {
		return hint.Add(fmt.Errorf("standard input is no terminal, so nobody can be asked: nothing was written"), "give --yes to "+string(o.verb)+" what is shown above")
	}
	if _, err := fmt.Fprintf(o.std.err, "\n%s this? [y/N] ", strings.ToUpper(string(o.verb)[:1])+string(o.verb)[1:]); err != nil {
		return err
	}
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(o.std.in).ReadString('\n') // the end of the input is no
		answers <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case answer := <-answers:
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errNotConfirmed
		}
		return nil
	}
}

// write writes the act, if the object is still the one that was read.
func (o *actOptions) write(ctx context.Context, api client.Client, next *pending) error {
	ctx, cancel := context.WithTimeout(ctx, o.cluster.timeout)
	defer cancel()
	annotations := map[string]any{}
	for key, value := range next.act.Set {
		annotations[key] = value
	}
	for _, key := range next.act.Remove {
		annotations[key] = nil
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": next.object.GetResourceVersion(), "annotations": annotations}}
	if next.act.Unpause {
		patch["spec"] = map[string]any{"rollout": map[string]any{"paused": false}}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return api.Patch(ctx, next.object, client.RawPatch(types.MergePatchType, body), client.FieldOwner(actManager))
}

// report says what was done.
func (o *actOptions) report(err error, server *observe.Server) error {
	resource := command.Pools
	if o.source {
		resource = command.Sources
	}
	switch {
	case apierrors.IsForbidden(err):
		return hint.Add(connect.Explain(err, server.Name(), o.cluster.timeout), "the user needs the right to patch "+resource)
	case err != nil:
		return connect.Explain(err, server.Name(), o.cluster.timeout)
	}
	done := map[status.Verb]string{
		status.Approve: "approved", status.Resume: "resumed", status.Pause: "paused", status.Expedite: "expedited", pollSource: "to be polled now",
	}[o.verb]
	_, err = fmt.Fprintf(o.std.out, "%s: %s\n", sanitize.Line(o.subject()), done)
	return err
}
