# SPDX-License-Identifier: BSD-2-Clause
# nix-build packaging/nix, in an unpacked tarball of make dist; nixpkgs takes the arguments and fetchurl as src.
{ pkgs ? import <nixpkgs> { }
, lib ? pkgs.lib
, src ? lib.cleanSource ../..
, withCuda ? false
}:

pkgs.stdenv.mkDerivation {
  pname = "gemkv";
  version = "0.2.0";
  inherit src;

  outputs = [ "out" "dev" "man" ];
  nativeBuildInputs = [ pkgs.pkg-config ] ++ lib.optional withCuda pkgs.cudaPackages.cuda_nvcc;
  buildInputs = with pkgs; [ curl libarchive libedit libmicrohttpd libuchardet libxml2 sqlite ]
    ++ lib.optionals withCuda (with cudaPackages; [ cuda_cudart libcublas ]);
  nativeCheckInputs = with pkgs; [ mandoc poppler-utils python3 zstd ];

  configureFlags = [
    "--with-libarchive" "--with-libxml2" "--with-uchardet" "--with-libcurl" "--with-libmicrohttpd" "--with-sqlite"
    "--with-libedit" "--without-openmpi" "--without-mpich"
    "--with-systemdsystemunitdir=${placeholder "out"}/lib/systemd/system"
  ] ++ lib.optional withCuda "--with-cuda";

  enableParallelBuilding = true;
  doCheck = true;
  # A part of the oracle's cases and of those of the command line.
  preCheck = "export GOLDEN_TOKENS=200 GOLDEN_EVERY=10 CLI_EVERY=4";

  meta = {
    description = "Answers questions about documents that are far too long for the machine";
    license = with lib.licenses; [ bsd2 cc-by-sa-40 ];
    mainProgram = "gemkv";
    platforms = lib.platforms.linux;
  };
}
