"""What tells a person or a machine, as it stands in logs and facts; all of it is made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.leaks.plants import Plant

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "wilhelmina"
NODE = "quokka17"


def identities() -> tuple[Plant, ...]:
    """Return what `--redact` hides."""
    makers = (_mail, _hosts, _numbers, _homes, _folders, _users)
    return tuple(plant for maker in makers for plant in maker())


def _mail() -> Iterator[Plant]:
    for text in (
        f"{NAME}@example.edu", f"<{NAME}@mail.example.co.uk>", f"mailto:{NAME}@example.edu",
        f"Author: Q <{NAME}@example.edu>", f"{NAME}.x+y@example.edu,", f"'{NAME}@example.edu'",
    ):  # fmt: skip
        yield Plant("mail", text, (NAME, "example.edu" if "edu" in text else "example.co.uk"))
    for text in (
        f"{NAME}@{NODE}", f"ssh {NAME}@{NODE}", f"{NAME}@{NODE}:~/x$ python a.py",
        f"(base) {NAME}@{NODE} x %", f"scp {NAME}@{NODE}:/x .", f"[{NAME}@{NODE} x]#",
        f"ssh://{NAME}@{NODE}/x",
    ):  # fmt: skip
        yield Plant("user at host", text, (NAME, NODE))
    yield Plant("user at address", f"ssh {NAME}@10.20.30.41", (NAME, "10.20.30.41"))


def _hosts() -> Iterator[Plant]:
    full = f"{NODE}.hpc.example.edu"
    for text in (
        full, f"on {full}:", f"({full})", f"'{full}'", f"https://{full}:8443/x", f"{full}:29500",
        f"tcp://{full}:29500", f"host {full} is down", f"ssh {full}",
    ):  # fmt: skip
        yield Plant("host", text, (NODE,))
    for text in (
        f"hostname: {NODE}", f"Hostname={NODE}", f"host={NODE}", f'"host": "{NODE}"',
        f"MASTER_ADDR={NODE}", f"--master_addr {NODE}", f"--master-addr={NODE}", f"tcp://{NODE}:29500",
        f"http://{NODE}:8000/v1", f"node {NODE} failed", f"nodelist={NODE}", f"[{NODE}:12345]",
        f"NodeName={NODE}", f"rdzv_endpoint={NODE}:29400", f"{NODE}.local", f"{NODE}.cluster.local",
        f"COMPUTERNAME={NODE}", f"server: {NODE}",
    ):  # fmt: skip
        yield Plant("short host", text, (NODE,))


def _numbers() -> Iterator[Plant]:
    for address in ("10.20.30.41", "192.168.17.23", "172.20.3.99", "84.112.45.6"):
        for text in (
            f"inet {address}/24",
            f"connect to {address}:29500 failed",
            f"at {address}",
            f"tcp://{address}:80",
            f"[{address}]",
            f"addr={address};",
        ):
            yield Plant("IPv4", text, (address,))
    for address in (
        "2001:db8:85a3:0:0:8a2e:370:7334", "2001:db8::ff00:42:8329", "fe80::1ff:fe23:4567:890a",
        "fd12:3456:789a:1::1",
    ):  # fmt: skip
        for text in (
            f"inet6 {address}/64",
            f"[{address}]:29500",
            f"at {address}",
            f"{address}%eth0",
        ):
            yield Plant("IPv6", text, (address,))
    yield Plant("MAC", "ether 3c:ec:ef:1a:2b:9d", ("3c:ec:ef:1a:2b:9d",))
    uuid = "8d0e6bb4-4d33-4b42-92b5-0ed3e8c8ab4e"
    yield Plant("UUID", f"GPU-{uuid}", (uuid,))


def _homes() -> Iterator[Plant]:
    for home in (
        "/home/{}", "/Users/{}", "/export/home/{}", "/nfs/home/{}", "/gpfs/home/w/{}",
        "/var/home/{}",
        "/cluster/home/{}", "/mnt/c/Users/{}", "/c/Users/{}", "C:\\Users\\{}", "C:\\\\Users\\\\{}",
        "C:/Users/{}", "d:\\users\\{}", "C:\\Documents and Settings\\{}", "~{}", "file:///home/{}",
        "/mnt/homes/{}",
    ):  # fmt: skip
        folder = home.format(NAME)
        sep = "\\\\" if "\\\\" in folder else "\\" if "\\" in folder else "/"
        for text in (f"{folder}{sep}x", f'File "{folder}{sep}a.py", line 3', f"-I{folder}{sep}x"):
            if home != "~{}" or not text.startswith("-I"):
                yield Plant("home", text, (NAME,))
        if home != "~{}":
            spaced = home.format(f"{NAME.title()} Xanthippe")
            yield Plant("home with a space", f"{spaced}{sep}x", ("Xanthippe", NAME.title()))
    yield Plant("home", "cannot open %2Fhome%2F" + NAME + "%2Fx", (NAME,))
    yield Plant("home", f"cd /home/{NAME}", (NAME,))


def _folders() -> Iterator[Plant]:
    for folder in (
        "/scratch/users/{}", "/scratch/{}", "/gscratch/{}", "/fs/scratch/PAS1234/{}",
        "/data/users/{}", "/data/people/{}", "/lustre/users/{}", "/data/staff/{}",
        "/afs/cell/user/w/{}", "/mnt/students/{}", "/u/{}", "/scratch-ssd/{}", "/netscratch/{}",
        "/run/user/{}", "/data/users/w/{}",
    ):  # fmt: skip
        yield Plant("folder of a person", f"{folder.format(NAME)}/env/x.so", (NAME,))
        yield Plant("folder of a person", f"open('{folder.format(NAME)}')", (NAME,))
    for text in (
        f"\\\\{NODE}\\people\\x", f"\\\\\\\\{NODE}\\\\people\\\\x", f"'\\\\{NODE}\\share'",
        f"\\\\{NODE}.example.edu\\{NAME}$",
    ):  # fmt: skip
        yield Plant("UNC", text, (NODE,))


def _users() -> Iterator[Plant]:
    for text in (
        f"USER={NAME}", f"LOGNAME={NAME}", f"user: {NAME}", f'"username": "{NAME}"',
        f"uid=1000({NAME})", f"sudo -u {NAME} x", f"SLURM_JOB_USER={NAME}", f"owner={NAME}",
        f"Author: {NAME.title()} Xanthippe <x>", f"/home/{NAME}/x belongs to {NAME}",
        f"login: {NAME}",
    ):  # fmt: skip
        yield Plant("user", text, (NAME, NAME.title()))
