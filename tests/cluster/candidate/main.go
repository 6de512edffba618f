// SPDX-License-Identifier: Apache-2.0

// A candidate for a Lease that is none of ours: client-go's own election, as any
// control plane written in Go has it.  It says on stdout what becomes of it, a
// word a line, and gives the Lease back at SIGTERM.
//
// usage: candidate KUBECONFIG NAMESPACE LEASE IDENTITY DURATION DEADLINE RETRY
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	must(err)
	return d
}

func main() {
	if len(os.Args) != 8 {
		must(fmt.Errorf("seven arguments are needed"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	client, err := coordination.NewForConfig(config)
	must(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[4]},
		},
		LeaseDuration:   duration(os.Args[5]),
		RenewDeadline:   duration(os.Args[6]),
		RetryPeriod:     duration(os.Args[7]),
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { fmt.Println("leads") },
			OnStoppedLeading: func() { fmt.Println("stopped") },
			OnNewLeader:      func(identity string) { fmt.Println("observed", identity) },
		},
	})
}
