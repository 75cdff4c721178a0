#!/bin/sh
# two_hosts.sh SHELL DIR COMMAND: makes two hosts, nodea and nodeb, each with its own network, mount, PID and UTS name
# space; runs COMMAND on nodea in DIR; ends both. SHELL is remote_shell.py. Exits with 77 if this is not allowed here.
shell=$1 dir=$2 command=$3
printf '127.0.0.1 localhost\n10.77.0.1 nodea\n10.77.0.2 nodeb\n' > "$dir/hosts"
unshare -n -m -p -u --fork true 2>/dev/null || exit 77
host() {
    exec unshare -n -m -p -u --fork --kill-child --mount-proc sh -c "
        hostname $1 && mount -t tmpfs tmpfs /dev/shm && mount --bind $dir/hosts /etc/hosts && ip link set lo up &&
        touch $dir/$1.up && exec python3 $shell serve"
}
host nodea &
a=$!
host nodeb &
b=$!
trap 'kill -KILL $a $b' EXIT
i=0
until [ -e "$dir/nodea.up" ] && [ -e "$dir/nodeb.up" ]; do
    i=$((i + 1))
    [ $i -lt 200 ] || exit 77
    sleep 0.05
done
inner() { cat "/proc/$1/task/$1/children"; }
a0=$(inner $a) b0=$(inner $b)
ip link add acq0 netns ${a0%% *} type veth peer name acq0 netns ${b0%% *} || exit 77
# Without an IPv6 address, which is not usable at first.
nsenter -t ${a0%% *} -n sh -c 'ip addr add 10.77.0.1/24 dev acq0 && ip link set acq0 addrgenmode none && ip link set acq0 up' || exit 77
nsenter -t ${b0%% *} -n sh -c 'ip addr add 10.77.0.2/24 dev acq0 && ip link set acq0 addrgenmode none && ip link set acq0 up' || exit 77
# Transports choose their network when a program starts: the link must have settled.
nsenter -t ${a0%% *} -n -m -p -u -- python3 "$shell" nodeb "python3 $shell nodea true"
sleep 1
nsenter -t ${a0%% *} -n -m -p -u -- sh -c "cd $dir; $command"
