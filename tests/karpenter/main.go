// Command karpenter is Karpenter with its provider KWOK, whose instances are Node objects, for tests/cluster/karpenter. Its
// flags are Karpenter's own.
package main

import (
	"os"

	"sigs.k8s.io/controller-runtime/pkg/log"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
)

func main() {
	ctx, op := operator.NewOperator()
	fail := func(err error) {
		if err != nil {
			log.FromContext(ctx).Error(err, "karpenter cannot start")
			os.Exit(1)
		}
	}
	types, err := kwok.ConstructInstanceTypes(ctx)
	fail(err)
	plain := kwok.NewCloudProvider(ctx, op.GetClient(), types)
	provider := overlay.Decorate(plain, op.GetClient(), op.InstanceTypeStore)
	repairs, err := health.NewRepairPolicyMatcher(ctx, provider)
	fail(err)
	cluster := state.NewCluster(op.Clock, op.GetClient(), provider, state.WithRepairPolicyMatcher(repairs))
	all := controllers.NewControllers(ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, provider, plain, cluster,
		op.InstanceTypeStore, op.PredictionStore)
	op.WithControllers(ctx, all...).Start(ctx)
}
