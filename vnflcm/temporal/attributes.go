package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Search attributes of the workflows, for lists such as VnfOperationState = 'FAILED_TEMP'.
const (
	AttributeInstance  = "VnfInstanceId"
	AttributeOperation = "VnfOperation"      // such as INSTANTIATE
	AttributeState     = "VnfOperationState" // such as PROCESSING; of a workflow that has ended: the state in which it ended
)

// CreateAttributes creates the search attributes in a namespace, and leaves those that exist. Without them the workflows wait:
// their tasks fail until the attributes exist. It needs the permission to administer the namespace.
func CreateAttributes(ctx context.Context, c client.Client, namespace string) error {
	there, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("search attributes of namespace %q: %w", namespace, err)
	}
	missing := map[string]enums.IndexedValueType{AttributeInstance: enums.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeOperation: enums.INDEXED_VALUE_TYPE_KEYWORD, AttributeState: enums.INDEXED_VALUE_TYPE_KEYWORD}
	var faults []error
	for name, kind := range there.CustomAttributes {
		if want, ours := missing[name]; ours && want != kind {
			faults = append(faults, fmt.Errorf("search attribute %s of namespace %q is of type %s, not %s", name, namespace, kind, want))
		}
		delete(missing, name)
	}
	if len(faults) > 0 || len(missing) == 0 {
		return errors.Join(faults...)
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: maps.Clone(missing)})
	if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); err != nil && !exists { // another process was faster
		return fmt.Errorf("search attributes of namespace %q: %w", namespace, err)
	}
	return nil
}

// publish shows what the operation is and its state.
func publish(ctx workflow.Context, now description) error {
	return workflow.UpsertTypedSearchAttributes(ctx,
		sdk.NewSearchAttributeKeyKeyword(AttributeInstance).ValueSet(now.InstanceID),
		sdk.NewSearchAttributeKeyKeyword(AttributeOperation).ValueSet(string(now.Kind)),
		sdk.NewSearchAttributeKeyKeyword(AttributeState).ValueSet(string(now.State)))
}
