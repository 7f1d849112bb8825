#!/usr/bin/python3
"""Plays the NFS server of the kernel, and rpc.mountd: ganesha serves what exportfs has written to etab.

Without arguments it becomes that server. With "changed" it has systemd start the server again if there is something else to serve."""
import os
import re
import subprocess
import sys

ETAB, CONFIG = "/var/lib/nfs/etab", "/run/ganesha/exports.conf"
CORE = """NFS_CORE_PARAM { Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; Only_Numeric_Owners = true; }
"""


def client(address, options):
    squash = "All_Squash" if "all_squash" in options else "Root_Squash" if "root_squash" in options else "No_Root_Squash"
    return "  CLIENT { Clients = %s; Access_Type = %s; Squash = %s; PrivilegedPort = %s; Anonymous_uid = %s; Anonymous_gid = %s; }\n" % (
        address, "RW" if "rw" in options else "RO", squash, "secure" in options, options["anonuid"], options["anongid"])


def render():
    exports = {}
    for line in open(ETAB):
        path, address, text = re.fullmatch(r"(\S+)\t(\S+)\((.*)\)\n", line).groups()
        options = dict(option.partition("=")[::2] for option in text.split(","))
        if "mountpoint" in options and not os.path.ismount(options["mountpoint"]):
            continue
        exports[path] = exports.get(path, "") + client(address, options)
    return CORE + "".join(
        "EXPORT { Export_Id = %d; Path = %s; Pseudo = %s; Access_Type = None; SecType = sys; FSAL { Name = VFS; }\n%s}\n" % (number, path, path, clients)
        for number, (path, clients) in enumerate(sorted(exports.items()), 1))


if sys.argv[1:] == ["changed"]:
    if not os.path.exists(CONFIG) or open(CONFIG).read() != render():
        subprocess.run(["systemctl", "try-restart", "nfs-server"], check=True)
else:
    for directory in os.path.dirname(CONFIG), "/var/lib/nfs/ganesha":
        os.makedirs(directory, exist_ok=True)
    with open(CONFIG, "w") as file:
        file.write(render())
    os.execv("/usr/bin/ganesha.nfsd", ["ganesha.nfsd", "-F", "-f", CONFIG, "-L", "/var/log/ganesha.log", "-p", "/run/ganesha/pid"])
