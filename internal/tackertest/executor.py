"""Runs a management driver script of a VNF package: argv has the script, relative to Definitions/; standard input the
dictionary of the conductor, as JSON. Prints what the VNF instance has become, as JSON.

With the root of a checkout of OpenStack Tacker in VNFKIT_TACKER, Tacker's own code runs the script. Without it, the
same is done here.
"""

import importlib.abc
import importlib.machinery
import json
import os
import pickle
import subprocess
import sys
import types
from unittest import mock


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for modules that Tacker imports beside the code that runs scripts."""

    names = ("kubernetes", "toscaparser", "translator", "glance_store", "heatclient", "barbicanclient", "cryptography",
             "castellan", "paramiko", "mistralclient", "rfc3986", "requests_oauthlib", "tackerclient", "openstack")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


def attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return mock.MagicMock()


class Package:
    """What Tacker's code asks of a VNFD. The package stays where it is."""

    def __init__(self, folder, script):
        self.folder, self.script = folder, script

    def get_interface_script(self, flavour_id, operation):
        return self.script

    def make_tmp_csar_dir(self):
        return self.folder

    def remove_tmp_csar_dir(self, folder):
        pass


class Document(dict):
    def to_dict(self):
        return dict(self)


def by_tacker(said, script):
    os.environ.setdefault("PBR_VERSION", "14.0.0")
    sys.path.insert(0, os.environ["VNFKIT_TACKER"])
    sys.meta_path.append(Absent())
    from tacker.sol_refactored import objects
    objects.register_all()
    from tacker.sol_refactored.conductor import vnflcm_driver_v2
    driver = vnflcm_driver_v2.VnfLcmDriverV2.__new__(vnflcm_driver_v2.VnfLcmDriverV2)
    instance = objects.VnfInstanceV2.from_dict(said["vnf_instance"])
    grant = said["grant_response"] and Document(said["grant_response"])
    driver._exec_mgmt_driver_script(
        said["operation"], instance.instantiatedVnfInfo.flavourId, Document(said["request"]), instance,
        Document(said["grant_request"]), grant, Package(said["tmp_csar_dir"], script), said["user_script_err_handling_data"])
    return instance.to_dict()


def directly(said, script):
    run = subprocess.run([sys.executable, os.path.join(said["tmp_csar_dir"], "Definitions", script)],
                         input=pickle.dumps(said), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    instance = said["vnf_instance"]
    try:
        instance = pickle.loads(run.stdout).get("vnf_instance", instance)
    except (EOFError, pickle.UnpicklingError):
        pass
    if run.returncode != 0:
        raise RuntimeError("{} failed: {}".format(said["operation"], run.stderr))
    return instance


def main():
    said = json.load(sys.stdin)
    execute = by_tacker if os.environ.get("VNFKIT_TACKER") else directly
    json.dump(execute(said, sys.argv[1]), sys.stdout)


main()
