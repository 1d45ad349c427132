# SPDX-License-Identifier: BSD-2-Clause
# Whoever publishes the tarballs of make release fills in homepage, url, and sha256 from its SHA256SUMS.
class Gemkv < Formula
  desc "Answer questions about documents that are too long for the machine"
  homepage "https://example.org/gemkv"
  url "https://example.org/gemkv/gemkv-0.2.0.tar.xz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license all_of: ["BSD-2-Clause", "CC-BY-SA-4.0"]

  depends_on "pkgconf" => :build
  depends_on "libarchive"
  depends_on "libedit"
  depends_on "libmicrohttpd"
  # gemkv is tested on Linux only.
  depends_on :linux
  depends_on "poppler"
  depends_on "sqlite"
  depends_on "uchardet"
  uses_from_macos "curl"
  uses_from_macos "libxml2"

  def install
    system "./configure", "--with-libarchive", "--with-libxml2", "--with-uchardet", "--with-libcurl",
                          "--with-libmicrohttpd", "--with-sqlite", "--with-libedit",
                          "--without-openmpi", "--without-mpich",
                          "--with-systemdsystemunitdir=no", *std_configure_args
    system "make", "install"
  end

  test do
    (testpath/"note.txt").write "The amber key is in the blue drawer.\n"
    output = shell_output("#{bin}/gemkv select -k 64 -f note.txt 'Where is the amber key?'")
    assert_match "blue drawer", output
  end
end
