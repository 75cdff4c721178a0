"""Unpacks a wheel: purelib, platlib and the `data` part all go to one directory, with their execute bits."""
import os
import sys
import zipfile

wheel, destination = sys.argv[1:3]
root = os.path.realpath(destination)
with zipfile.ZipFile(wheel) as archive:
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        parts = entry.filename.split("/")
        if parts[0].endswith(".data") and len(parts) > 2:
            parts = parts[2:]
        path = os.path.realpath(os.path.join(root, *parts))
        if not path.startswith(root + os.sep):
            sys.exit("ERROR: %s leaves the wheel" % entry.filename)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with archive.open(entry) as source, open(path, "wb") as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)
        if (entry.external_attr >> 16) & 0o111:
            os.chmod(path, 0o755)
