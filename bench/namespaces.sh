#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# namespaces.sh N RATE DELAY COMMAND...
#
# Runs a command, as root, by Open MPI on N hosts, each of which is a network namespace of this machine with a link of RATE to
# a bridge that delays by DELAY each way: namespaces.sh 4 1gbit 0.1ms gemkv select ...  0: as fast as memory, and at once (a kernel
# without netem cannot delay).
# Processes talk by TCP only, as on machines of their own.
set -euo pipefail
n=$1 rate=$2 delay=$3
shift 3
name=gkvn$$
scratch=$(mktemp -d)
end() {
    for i in $(seq 0 "$n"); do ip netns del "$name-$i" 2>/dev/null || :; done
    ip link del "$name" 2>/dev/null || :
    rm -rf "$scratch"
}
trap end EXIT
ip link add "$name" type bridge
ip link set "$name" up
for i in $(seq 0 "$n"); do
    ip netns add "$name-$i"
    ip link add "v$i.$$" type veth peer name eth0 netns "$name-$i"
    ip link set "v$i.$$" master "$name" up
    ip -n "$name-$i" addr add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$name-$i" link set eth0 up
    ip -n "$name-$i" link set lo up
    shape=
    test "$rate" = 0 || shape="tbf rate $rate burst 256kb latency 50ms"
    if test "$delay" != 0; then
        shape="netem delay $delay"
        test "$rate" = 0 || shape="$shape rate $rate"
    fi
    # shellcheck disable=SC2086
    test -z "$shape" || { ip netns exec "$name-$i" tc qdisc add dev eth0 root $shape; tc qdisc add dev "v$i.$$" root $shape; }
    test "$i" = 0 || echo "10.77.0.$((i + 1)) slots=1" >>"$scratch/hosts"
done
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
