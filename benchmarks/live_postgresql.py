"""A PostgreSQL server of one's own, in a folder: what tests and benchmarks of ledgers start."""

import contextlib
import os
import pwd
import shutil
import subprocess
from pathlib import Path


def programs():
    """The folder of PostgreSQL's programs, or None where it is not installed."""
    found = [Path(name).parent for name in (shutil.which("initdb"),) if name]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists()), None)


@contextlib.contextmanager
def postgresql_server(folder):
    """The URL of a real server with its data in a folder, until the end of the block; it is not run by root."""
    folder, where, user = Path(folder), programs(), {}
    if os.getuid() == 0:
        account = pwd.getpwnam("postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
        for parent in folder.parents:
            with contextlib.suppress(OSError):
                parent.chmod(parent.stat().st_mode | 0o011)
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    run = {"check": True, "capture_output": True, "cwd": folder, **user}
    data = folder / "data"
    subprocess.run([where / "initdb", "-D", data, "-U", "tsgrad", "--auth=trust"], **run)
    options = f"-k {folder} -c listen_addresses='' -c fsync=on"
    subprocess.run([where / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start"], **run)
    try:
        yield f"postgresql://tsgrad@/postgres?host={folder}"
    finally:
        subprocess.run([where / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run)
