package kubespray

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// mtuState is the key in the state of the instance of the MTU of the network that the nodes share.
const mtuState = "kubespray/mtu"

// runMeasureMTUOnce uses the MTU recorded in the state of the instance, and measures if none is recorded.
func runMeasureMTUOnce(ctx context.Context, d *deployment, n mgmt.Node) error {
	err := d.op.State().Get(ctx, mtuState, &d.mtu)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return runMeasureMTU(ctx, d, n)
	}
	return err
}

// runMeasureMTU measures the MTU of the control-plane nodes' network interface, and records it.
func runMeasureMTU(ctx context.Context, d *deployment, _ mgmt.Node) (err error) {
	if d.mtu, err = vnflcm.Run(ctx, d.op, vnflcm.Step[int]{Name: "mtu", Do: d.readMTU}); err != nil {
		return err
	}
	return d.op.State().Put(ctx, mtuState, d.mtu)
}

// readMTU returns the MTU of the first control-plane node that answers.
func (d *deployment) readMTU(ctx context.Context) (mtu int, err error) {
	var errs []error
	for _, n := range d.controlPlane {
		err := mgmt.Within(ctx, time.Minute, func(ctx context.Context) error {
			mtu, err = mtuOf(ctx, n)
			return err
		})
		if err == nil {
			return mtu, nil
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// interfaceName matches names of network interfaces. The name becomes a part of a path.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

// mtuOf returns the MTU of the interface that has the node's address.
func mtuOf(ctx context.Context, n mgmt.Node) (int, error) {
	family := "-4"
	if n.IP.Is6() {
		family = "-6"
	}
	out, err := n.SSH.Output(ctx, sshexec.Command{Argv: []string{"ip", "-o", family, "addr", "show", "to", n.IP.String()}})
	if err != nil {
		return 0, err
	}
	// Example of a line: "2: eth0    inet 10.10.0.10/16 brd ..." (ip-address(8), -oneline)
	words := strings.Fields(string(out))
	if len(words) < 2 {
		return 0, fmt.Errorf("kubespray: no interface of %s has the address %s", n.Label(), n.IP)
	}
	name, _, _ := strings.Cut(words[1], "@")
	if !interfaceName.MatchString(name) {
		return 0, fmt.Errorf("kubespray: %s calls the interface of %s %q, which is no name of one", n.Label(), n.IP, name)
	}
	out, err = n.SSH.Output(ctx, sshexec.Command{Argv: []string{"cat", "/sys/class/net/" + name + "/mtu"}})
	if err != nil {
		return 0, err
	}
	mtu, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || mtu < minMTU || mtu > maxMTU {
		return 0, fmt.Errorf("kubespray: %s has no usable MTU for %s: %.20q", n.Label(), name, out)
	}
	return mtu, nil
}

// Bounds of an MTU: at least 576 bytes for IPv4 (RFC 791), at most 65536 as on loopback.
const (
	minMTU = 576
	maxMTU = 65536
)
