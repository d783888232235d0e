package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// list returns every object of a kind, read page by page.
func list[T any](ctx context.Context, reader client.Reader, empty client.ObjectList) ([]*T, error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := empty.DeepCopyObject().(client.ObjectList)
		return page, reader.List(ctx, page, &client.ListOptions{Limit: options.Limit, Continue: options.Continue})
	})
	found, _, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []*T
	err = meta.EachListItem(found, func(object runtime.Object) error {
		item, fits := object.(any).(*T)
		if !fits {
			return fmt.Errorf("a list holds a %T", object)
		}
		all = append(all, item)
		return nil
	})
	return all, err
}

// PageSize is how many objects one request brings, as with kubectl.
const PageSize = 500

// collect adds the objects of a kind to an inventory, as they stand there at one
// time: what an earlier list had that became too old to be read on is forgotten.
func collect(ctx context.Context, reader client.Reader, empty client.ObjectList, builder *inventory.Builder) error {
	return eachPage(ctx, reader, empty, builder.Add, func() error { return builder.Forget(empty) })
}

// eachPage lists the objects of a kind and hands each on, so that no more than a
// page of them is held here. Where the list becomes too old to be read on, all of it
// is read again at once. Some of what was handed on may be gone by then: again is
// called before the rest comes anew.
func eachPage(ctx context.Context, reader client.Reader, empty client.ObjectList, take func(runtime.Object) error, again func() error) error {
	options := client.ListOptions{Limit: PageSize}
	for {
		page := empty.DeepCopyObject().(client.ObjectList)
		switch err := reader.List(ctx, page, &options); {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			if err := again(); err != nil {
				return err
			}
			options = client.ListOptions{}
			continue
		case err != nil:
			return err
		}
		if err := meta.EachListItem(page, take); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
