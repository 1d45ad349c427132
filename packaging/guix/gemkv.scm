;; SPDX-License-Identifier: BSD-2-Clause
;; guix build -f packaging/guix/gemkv.scm, in an unpacked tarball of make dist; in Guix itself the source is an origin.
(use-modules (guix build-system gnu)
             (guix gexp)
             ((guix licenses) #:prefix license:)
             (guix packages)
             (gnu packages))

(package
  (name "gemkv")
  (version "0.2.0")
  (source (local-file "../.." "gemkv" #:recursive? #t))
  (build-system gnu-build-system)
  (arguments
   (list
    #:configure-flags
    #~(list "--with-libarchive" "--with-libxml2" "--with-uchardet" "--with-libcurl" "--with-libmicrohttpd"
            "--with-sqlite" "--with-libedit" "--without-openmpi" "--without-mpich"
            (string-append "--with-systemdsystemunitdir=" #$output "/lib/systemd/system"))
    #:phases
    #~(modify-phases %standard-phases
        ;; A part of the oracle's cases and of those of the command line.
        (add-before 'check 'shorten-check
          (lambda _
            (setenv "GOLDEN_TOKENS" "200")
            (setenv "GOLDEN_EVERY" "10")
            (setenv "CLI_EVERY" "4"))))))
  (native-inputs (map specification->package '("mandoc" "pkg-config" "poppler" "python" "xz" "zstd")))
  (inputs (map specification->package
               '("curl" "libarchive" "libedit" "libmicrohttpd" "libxml2" "sqlite" "uchardet")))
  (synopsis "Answers questions about documents that are far too long for the machine")
  (description
   "gemkv reads documents of hundreds of pages with a language model on an ordinary computer.  A first pass through the
model's early layers finds the tokens that matter for the question; only these are read by the whole model, which writes
the answer.  It reads GGUF files, and names the passages that an answer rests on.")
  (home-page #f)
  (license (list license:bsd-2 license:cc-by-sa4.0)))
