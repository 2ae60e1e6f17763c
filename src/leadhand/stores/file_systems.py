"""Detect network file systems, where SQLite's locks are not reliable."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/mounts")

NETWORKED = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "9p", "afs", "ceph", "lustre", "gpfs"}
    | {"beegfs", "ocfs2", "gfs2", "glusterfs", "orangefs", "pvfs2", "davfs", "fuse.sshfs", "fuse.ceph"}
    | {"fuse.ceph-fuse", "fuse.glusterfs", "fuse.davfs", "fuse.davfs2", "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys"}
    | {"fuse.rclone", "fuse.juicefs", "fuse.smbnetfs", "fuse.nfs"}
)
"""Types of mounts, as Linux names them."""


def network_file_system(path: Path | str, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the network file system that ``path`` is on, such as ``nfs4``; None for a local disk.

    The path need not exist. Returns None on systems without a list of mounts (macOS).
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = Path(path).expanduser().resolve()
    deepest, type_ = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1]
        if "\\" in point:  # spaces and the like are written as three octal digits
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        if place.is_relative_to(point) and len(point) >= deepest:  # a later mount hides an earlier one
            deepest, type_ = len(point), fields[2]
    return type_ if type_ in NETWORKED else None
