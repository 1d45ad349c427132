# SPDX-License-Identifier: BSD-2-Clause
# Documents with a password are refused with what to do.
mkdir bin
printf '#!/bin/sh\necho "Command Line Error: Incorrect password" >&2\nexit 1\n' >bin/pdftotext
chmod +x bin/pdftotext
PATH=$PWD/bin:$PATH
printf '%%PDF-1.4\n' >a.pdf
{ printf '\320\317\021\340\241\261\032\341'; printf EncryptedPackage | sed 's/./&\n/g' | tr '\n' '\0'; } >a.docx
for f in a.pdf a.docx; do t ask -f $f q 2>&1; done
t ask -f '' q 2>&1
# OpenDocument says it in a list; gemkv may be built without libarchive.
python3 - 2>/dev/null <<'X' || exit 0
import zipfile
for name, kind in ("a.odt", "text"), ("a.ods", "spreadsheet"):
    with zipfile.ZipFile(name, "w") as z:
        z.writestr("mimetype", "application/vnd.oasis.opendocument." + kind)
        z.writestr("content.xml", b"\x93\x01cipher")
        z.writestr("META-INF/manifest.xml", '<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>')
X
for f in a.odt a.ods; do
    gemkv ask -f $f q 2>&1 | grep -v 'has a password; save it without one$\|needs a gemkv that is built with\|text needs pandoc'
done
