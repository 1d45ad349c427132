#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# namespaces.sh N MEGABITS MICROSECONDS COMMAND...
#
# Runs a command, as root, by Open MPI on N hosts, each of which is a network namespace of this machine with a link of that
# rate to a switch (bench/links) that delays what goes from one host to another: namespaces.sh 4 1000 100 gemkv select ...
# Processes talk by TCP only, as on machines of their own.
set -euo pipefail
n=$1 rate=$2 delay=$3
shift 3
links=$(dirname "$0")/links
test -x "$links" || { echo 'namespaces.sh: make bench/links' >&2; exit 2; }
name=gkvn$$
scratch=$(mktemp -d)
end() {
    kill "$switch" 2>/dev/null || :
    wait "$switch" 2>/dev/null || :
    for i in $(seq 0 "$n"); do ip netns del "$name-$i" 2>/dev/null || :; done
    rm -rf "$scratch"
}
switch=
trap end EXIT
for i in $(seq 0 "$n"); do
    ip netns add "$name-$i"
    ip -n "$name-$i" link set lo up
    test "$i" = 0 || echo "10.77.0.$((i + 1)) slots=1" >>"$scratch/hosts"
done
mkfifo "$scratch/ready"
# shellcheck disable=SC2046
"$links" "$rate" "$delay" $(seq -f "$name-%.0f" 0 "$n") >"$scratch/ready" &
switch=$!
read -r _ <"$scratch/ready"
# What ssh would do: HOST COMMAND...  Each host has a name of its own.
cat >"$scratch/enter" <<AGENT
#!/bin/bash
i=\$((\${1##*.} - 1))
shift
exec ip netns exec $name-\$i unshare --uts sh -c "hostname $name-\$i; \$*"
AGENT
chmod +x "$scratch/enter"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "$name-0" unshare --uts sh -c "hostname $name-0; exec \"\$@\"" sh mpirun.openmpi -n "$n" --hostfile "$scratch/hosts" \
    --map-by node --bind-to none --mca plm_rsh_agent "$scratch/enter" --mca btl tcp,self --mca btl_tcp_if_include eth0 \
    --mca oob_tcp_if_include eth0 --mca pml ob1 -x PATH -x GEMKV_PLUGIN_DIR "$@"
