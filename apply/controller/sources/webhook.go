package sources

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/webhook"
)

// errNoReceiver says that nobody listens.
var errNoReceiver = errors.New("the controller runs without --webhook-bind-address: pushes are followed at the next interval")

// hook is the webhook of a source, as a pass finds it; the zero value is none.
type hook struct {
	path string
	// err says why the Git server cannot ask for polls.
	err error
}

// retried reports whether what is wrong may be mended by trying again.
func (h hook) retried() bool { return h.err != nil && !errors.Is(h.err, errNoReceiver) }

// hookOf reads the token of a source and returns where its webhook is. It is read in
// each pass: the path is another one with another token.
func (r *Reconciler) hookOf(ctx context.Context, src *v1.NodePoolSource) hook {
	switch {
	case src.Spec.Webhook == nil:
		return hook{}
	case !r.options.Webhooks:
		return hook{err: errNoReceiver}
	}
	name, secret, err := r.secret(ctx, "spec.webhook.secretRef", &src.Spec.Webhook.SecretRef)
	if err != nil {
		return hook{err: err}
	}
	token, err := webhook.ParseToken(string(secret.Type), secret.Data)
	if err != nil {
		return hook{err: of(name, err)}
	}
	return hook{path: token.Path(src.Name)}
}

// report writes a webhook into a status. While its Secret cannot be read the path stays: it leads
// nowhere without the Secret, and is the same one when that is back.
func (h hook) report(src *v1.NodePoolSource, status *v1.NodePoolSourceStatus) {
	conditions := loop.Conditions{List: &status.Conditions, Generation: src.Generation}
	switch {
	case src.Spec.Webhook == nil:
		status.WebhookPath = ""
		meta.RemoveStatusCondition(&status.Conditions, v1.WebhookReadyCondition)
	case h.err == nil:
		status.WebhookPath = h.path
		conditions.SetTo(v1.WebhookReadyCondition, true, v1.SucceededReason, "the Git server can ask for a poll at the path in status.webhookPath")
	case errors.Is(h.err, errNoReceiver):
		conditions.SetTo(v1.WebhookReadyCondition, false, v1.WebhookDisabledReason, h.err.Error())
	default:
		conditions.SetTo(v1.WebhookReadyCondition, false, source.Reason(h.err), describe(h.err))
	}
}
