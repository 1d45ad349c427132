# SPDX-License-Identifier: BSD-2-Clause
from spack.package import *


class Gemkv(AutotoolsPackage):
    """Answers questions about documents that are far too long for the machine, with a local language model."""

    # Whoever publishes the tarballs of make release adds homepage, url, and
    # version("0.2.0", sha256=...) from its SHA256SUMS.
    license("BSD-2-Clause")

    variant("documents", default=True, description="Read Office files, EPUB, HTML and text in old encodings")
    variant("library", default=True, description="Keep libraries of documents (SQLite)")
    variant("serve", default=True, description="Be a server (libmicrohttpd)")
    variant("curl", default=False, description="Ask models of other programs for answers")
    variant("editline", default=True, description="Edit lines in gemkv chat")
    variant("openmpi", default=False, description="Build the plugin for processes of Open MPI")
    variant("mpich", default=False, description="Build the plugin for processes of MPICH")
    variant("cuda", default=False, description="Build the plugin for NVIDIA devices")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libarchive@3.3:", when="+documents")
    depends_on("libxml2@2.9:", when="+documents")
    depends_on("uchardet", when="+documents")
    depends_on("sqlite@3.38:+fts", when="+library")
    depends_on("libmicrohttpd@0.9.70:", when="+serve")
    depends_on("curl@7.66:", when="+curl")
    depends_on("libedit", when="+editline")
    depends_on("cuda@11.8:", when="+cuda")
    depends_on("openmpi", when="+openmpi")
    depends_on("mpich", when="+mpich")

    def configure_args(self):
        args = ["--with-systemdsystemunitdir=no"]
        args += self.with_or_without("openmpi", variant="openmpi") + self.with_or_without("mpich", variant="mpich")
        for option in ("libarchive", "libxml2", "uchardet"):
            args += self.with_or_without(option, variant="documents")
        args += self.with_or_without("sqlite", variant="library")
        args += self.with_or_without("libmicrohttpd", variant="serve")
        args += self.with_or_without("libcurl", variant="curl")
        args += self.with_or_without("libedit", variant="editline")
        args += self.with_or_without("cuda", variant="cuda")
        return args
