#!/usr/bin/env python3
"""A management driver script for version 2 of Tacker's API that runs a driver of vnfkit.

Copy it to Scripts/ of the VNF package, under the name of the driver: kubeadm.py, kubespray.py or registry.py. Put the
program tacker-mgmt-driver beside it, or into a folder of the PATH of Tacker's conductor.
"""

import json
import os
import pickle
import subprocess
import sys


def main():
    said = pickle.load(sys.stdin.buffer)  # of the conductor, which has started this script
    folder, name = os.path.split(os.path.abspath(__file__))
    beside = os.path.join(folder, "tacker-mgmt-driver")
    program = beside if os.path.isfile(beside) else "tacker-mgmt-driver"
    if program == beside and not os.access(beside, os.X_OK):
        os.chmod(beside, 0o700)  # an archive without modes has lost it; the conductor has made a copy for this script
    run = subprocess.run([program, "-driver", os.path.splitext(name)[0]],
                         input=json.dumps(said, default=str).encode(), stdout=subprocess.PIPE)
    if run.returncode != 0:
        return run.returncode if run.returncode > 0 else 1  # why is on stderr, which Tacker shows
    result = json.loads(run.stdout)
    if result:
        instance = said["vnf_instance"]
        info = instance.setdefault("instantiatedVnfInfo", {})
        servers = {vnfc["computeResource"]["resourceId"] for vnfc in info.get("vnfcResourceInfo", [])}
        metadata = info.setdefault("metadata", {})  # Tacker keeps it from one operation to the next
        published = {**metadata.get("published", {}), **result.get("published", {})}
        metadata["published"] = {server: facts for server, facts in published.items() if server in servers}
        for vim in result.get("vims", []):  # behind the OpenStack, which must stay the first
            instance.setdefault("vimConnectionInfo", {})[vim["vimId"]] = vim
        pickle.dump({"vnf_instance": instance}, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
