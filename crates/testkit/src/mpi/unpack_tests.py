"""Unpacks the folder `test` of a source package: unpack_tests.py PACKAGE.tar.gz FOLDER"""

import os
import sys
import tarfile

package, folder = sys.argv[1:3]
os.makedirs(folder)
with tarfile.open(package) as archive:
    for member in archive.getmembers():
        parts = member.name.split("/")
        if member.isfile() and len(parts) == 3 and parts[1] == "test" and parts[2] not in ("", ".", ".."):
            with open(os.path.join(folder, parts[2]), "wb") as file:
                file.write(archive.extractfile(member).read())
if not os.path.isfile(os.path.join(folder, "main.py")):
    sys.exit(f"ERROR: {package} has no test/main.py")
