package apply

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// manyPools is the number of changes from which reading the admission
// configuration costs less than a dry run of each change.
const manyPools = 2 * PoolsAtOnce

// ReadingAdmission returns a copy of the Applier that skips the dry runs of
// many pools where nothing in the cluster can refuse one: the schema of
// NodePools is the one of this program, which every revision has passed, and no
// webhook and no policy matches them. Where that cannot be read, every pool
// gets its dry run. The reader must bypass any cache.
func (a *Applier) ReadingAdmission(live client.Reader) *Applier {
	reading := *a
	reading.admission = live
	return &reading
}

// refusesNothing reports whether the API server accepts every pool that this
// program accepts. The error says why that is not known.
func (a *Applier) refusesNothing(ctx context.Context) (bool, error) {
	same, err := hasOwnSchema(ctx, a.admission)
	if err != nil || !same {
		return false, err
	}
	admission, err := readAdmission(ctx, a.admission)
	return err == nil && !admission.JudgesPools(), err
}

func readAdmission(ctx context.Context, live client.Reader) (plan.AdmissionControl, error) {
	var (
		validating admissionregistrationv1.ValidatingWebhookConfigurationList
		mutating   admissionregistrationv1.MutatingWebhookConfigurationList
		policies   admissionregistrationv1.ValidatingAdmissionPolicyList
		mutations  admissionregistrationv1.MutatingAdmissionPolicyList
	)
	for _, list := range []client.ObjectList{&validating, &mutating, &policies, &mutations} {
		if err := live.List(ctx, list); err != nil {
			return plan.AdmissionControl{}, fmt.Errorf("read the admission of NodePools: %w", err)
		}
	}
	return plan.AdmissionControl{
		ValidatingWebhooks: validating.Items, MutatingWebhooks: mutating.Items,
		ValidatingPolicies: policies.Items, MutatingPolicies: mutations.Items,
	}, nil
}

// hasOwnSchema reports whether the API server validates NodePools by the schema
// that is embedded in this program, and converts none.
func hasOwnSchema(ctx context.Context, live client.Reader) (bool, error) {
	definitions, err := crds.All()
	if err != nil {
		return false, err
	}
	own := slices.IndexFunc(definitions, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Names.Kind == v1.NodePoolKind
	})
	if own < 0 {
		return false, fmt.Errorf("no embedded definition of %s", v1.NodePoolKind)
	}
	installed := &apiextensionsv1.CustomResourceDefinition{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(definitions[own]), installed); err != nil {
		return false, fmt.Errorf("read the definition of NodePools: %w", err)
	}
	conversion := installed.Spec.Conversion
	return (conversion == nil || conversion.Strategy == apiextensionsv1.NoneConverter) &&
		equality.Semantic.DeepEqual(installed.Spec.Versions, definitions[own].Spec.Versions), nil
}
