"""A management driver script as version 2 of Tacker's API runs it. additionalParams say what it shall do in which hook."""

import json
import os
import pickle
import sys
import time


def act(said, do):
    if do == "fail":
        print("no server answers with password " + said["request"]["additionalParams"]["password"], file=sys.stderr)
        pickle.dump({"user_script_err_handling_data": {"tried": 1, "secret": "canary-data"}}, sys.stdout.buffer)
        return 3
    if do == "hang":
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(600)
    if do == "flood":
        for _ in range(200):
            sys.stdout.buffer.write(b"x" * (1 << 20))
            sys.stderr.write("y" * (1 << 20))
    if do == "text":
        print("done")
    if do == "call":
        sys.stdout.buffer.write(b"cos\nsystem\n(S'touch " + said["request"]["additionalParams"]["report"].encode() + b".called'\ntR.")
    if do == "laugh":
        value = ["ha"] * 10
        for _ in range(12):
            value = [value] * 10
        pickle.dump({"user_script_err_handling_data": {"laugh": value}}, sys.stdout.buffer)
    if do == "change":
        instance = said["vnf_instance"]
        instance["vnfInstanceName"] = "other"
        for vnfc in instance["instantiatedVnfInfo"]["vnfcResourceInfo"]:
            if vnfc["vduId"] == "masterNode":
                vnfc["metadata"] = {"alarm": "7", "ports": [1, 2]}
        instance["vimConnectionInfo"]["cluster"] = {"vimId": "theirs", "vimType": "kubernetes", "interfaceInfo": {}, "accessInfo": {"bearer_token": "t"}}
        pickle.dump({"vnf_instance": instance, "user_script_err_handling_data": {"changed": True}}, sys.stdout.buffer)
    return 0


def main():
    said = pickle.load(sys.stdin.buffer)
    params = said["request"].get("additionalParams") or {}
    report = params.get("report")
    if report:
        with open(report, "a") as out:
            json.dump({"said": said, "argv": sys.argv, "environment": dict(os.environ), "folder": os.getcwd(),
                       "files": sorted(os.listdir(said["tmp_csar_dir"]))}, out)
            out.write("\n")
    return act(said, params.get("do", {}).get(said["operation"]))


if __name__ == "__main__":
    sys.exit(main())
