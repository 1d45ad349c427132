#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write what is in a tarball of make dist, as SPDX 2.3 in JSON.

    python3 build-aux/sbom.py gemkv-0.2.0.tar.xz >gemkv-0.2.0.spdx.json

Licences are those of packaging/debian/copyright in the tarball, where the last paragraph that names a file counts.  A
file with a line SPDX-License-Identifier must have that licence there, too.  Times are $SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import re
import sys
import tarfile

# Names of the copyright file that SPDX has others for.
SPDX = {
    "public-domain": "LicenseRef-public-domain",
    "GPL-2+ with Autoconf exception": "GPL-2.0-or-later WITH Autoconf-exception-generic",
    "GPL-3+ with Autoconf exception": "GPL-3.0-or-later WITH Autoconf-exception-generic-3.0",
    "GPL-2+ with Libtool exception": "GPL-2.0-or-later WITH Libtool-exception",
}
# What configure looks for: module of pkg-config, what it is for.
LIBRARIES = {
    "libarchive": "Office files and EPUB",
    "libxml2": "HTML and Office files",
    "uchardet": "text in old encodings",
    "libcurl": "models of other programs",
    "libmicrohttpd": "the server",
    "sqlite3": "libraries of documents",
    "libedit": "lines of gemkv chat",
}


def licence(text: str) -> str:
    return " AND ".join(SPDX.get(part, part) for part in text.split(" and "))


def paragraphs(text: str) -> list[dict[str, str]]:
    """Fields of each paragraph; lines that go on are joined by newlines."""
    found = []
    for block in re.split(r"\n\n+", text.strip()):
        field: dict[str, str] = {}
        name = ""
        for line in block.split("\n"):
            if line[0] in " \t":
                field[name] += "\n" + line.strip()
            else:
                name, value = line.split(":", 1)
                field[name] = value.strip()
        found.append(field)
    return found


def pattern(names: str) -> re.Pattern[str]:
    """The wildcards of the copyright format, where * also matches /."""
    one = {"*": ".*", "?": "."}
    return re.compile("|".join("".join(one.get(c) or re.escape(c) for c in name) for name in names.split()))


def main(path: str) -> None:
    name, version = re.fullmatch(r"(.*)-([^-]*)\.tar\.xz", os.path.basename(path)).groups()
    top = f"{name}-{version}/"
    with tarfile.open(path) as tar:
        content = {m.name.removeprefix(top): tar.extractfile(m).read() for m in tar if m.isfile()}
    rows = [(pattern(p["Files"]), p)
            for p in paragraphs(content["packaging/debian/copyright"].decode()) if "Files" in p]

    files = []
    for number, (file, data) in enumerate(sorted(content.items())):
        row = [p for names, p in rows if names.fullmatch(file)][-1]
        said = re.search(rb"^\W{0,3} ?SPDX-License-Identifier: ([\w.-]+)", data[:400], re.M)
        concluded = licence(row["License"])
        if said and said[1].decode() not in concluded.split():
            sys.exit(f"{file} says {said[1].decode()}, packaging/debian/copyright {concluded}")
        files.append({
            "SPDXID": f"SPDXRef-File-{number}",
            "fileName": f"./{file}",
            "checksums": [
                {"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
            ],
            "licenseConcluded": concluded,
            "licenseInfoInFiles": [said[1].decode()] if said else ["NOASSERTION"],
            "copyrightText": row["Copyright"],
        })

    with open(path, "rb") as tarball:
        digest = hashlib.sha256(tarball.read()).hexdigest()
    sums = "".join(sorted(f["checksums"][0]["checksumValue"] for f in files))
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    root = "SPDXRef-Package"
    package = {
        "SPDXID": root,
        "name": name,
        "versionInfo": version,
        "packageFileName": os.path.basename(path),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1(sums.encode()).hexdigest()},
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": " AND ".join(sorted({f["licenseConcluded"] for f in files})),
        "licenseDeclared": "BSD-2-Clause",
        "licenseInfoFromFiles": sorted({said for f in files for said in f["licenseInfoInFiles"]}),
        "copyrightText": rows[0][1]["Copyright"],
    }
    libraries = [{
        "SPDXID": f"SPDXRef-Library-{library}",
        "name": library,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "comment": f"optional, for {what}; not in the tarball",
    } for library, what in LIBRARIES.items()]
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: gemkv-sbom.py"]},
        "packages": [package, *libraries],
        "files": files,
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-public-domain",
            "extractedText": "In the public domain: the authors died in 1914 and 1924.",
        }],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": root},
            *({"spdxElementId": root, "relationshipType": "CONTAINS", "relatedSpdxElement": f["SPDXID"]}
              for f in files),
            *({"spdxElementId": li["SPDXID"], "relationshipType": "OPTIONAL_DEPENDENCY_OF", "relatedSpdxElement": root}
              for li in libraries),
        ],
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
