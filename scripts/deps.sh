#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts/deps.sh SET...: sees to it that what a make target needs is installed. Sets: build test bench peers
# lint fuzz models interop strings.
#
# What is there is recognised by itself (a tool in PATH, a header), wherever it came from, so this is quick
# and does nothing when nothing is missing. What is missing comes from the distribution by apt-get, as root
# or by sudo. On other systems one line names the packages.
#
# A server (redis-server, valkey-server) is installed for its binary: tests start their own on free ports.
# Debian would also start it as a service, now and at every boot. A policy-rc.d, there only while apt-get
# runs, keeps it from being started, and it is disabled afterwards. A policy-rc.d that exists already is
# left as it is, and a service that it lets start is stopped. Servers that were there before are not touched.
# What is wanted but not needed (valkey-server, which not every distribution has) stops nothing.
set -eu

POLICY=/usr/sbin/policy-rc.d
MARK="made by holdfast's scripts/deps.sh, process"
tries=3

die()
{
    echo "deps: $*" >&2
    exit 1
}

tool()
{
    command -v "$1" > /dev/null 2>&1
}

header()
{
    for path in "/usr/include/$1" /usr/include/*-linux-*/"$1" "/usr/local/include/$1"; do
        [ ! -e "$path" ] || return 0
    done
    # Elsewhere, by CPATH or the like: the compiler knows.
    tool cc && printf '#include <%s>\n' "$1" | cc -E -x c - > /dev/null 2>&1
}

# What "python3 -m venv" needs.
venv()
{
    tool python3 && python3 -c 'import ensurepip' > /dev/null 2>&1
}

# redis-py of the distribution, for the distribution's python3.
redis_py()
{
    [ -x /usr/bin/python3 ] && /usr/bin/python3 -I -c 'import redis, sys
sys.exit(not redis.__file__.startswith("/usr/lib/python3/"))' > /dev/null 2>&1
}

# libFuzzer, which is in a package of its own on some distributions.
fuzzer()
{
    tool clang || return 1
    for library in "libclang_rt.fuzzer-$(uname -m).a" libclang_rt.fuzzer.a; do
        case $(clang -print-file-name="$library") in /*) return 0 ;; esac
    done
    return 1
}

# The number in the names of clang's packages: that of the one here, or of the one that "clang" would bring.
clang_number()
{
    if tool clang; then
        clang -dumpversion | cut -d . -f 1
    else
        apt-cache depends clang 2> /dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1
    fi
}

# need PACKAGE CHECK ARGUMENT: notes the package as missing unless the check succeeds.
need()
{
    case " $missing " in *" $1 "*) return ;; esac
    "$2" "$3" || missing="$missing $1"
}

need_set()
{
    case $1 in
    build)
        need gcc tool cc
        need libc6-dev header stdio.h
        need cmake tool cmake
        need ninja-build tool ninja
        need libhiredis-dev header hiredis/hiredis.h
        need libsqlite3-dev header sqlite3.h
        need uthash-dev header uthash.h
        need libjansson-dev header jansson.h
        ;;
    test)
        need g++ tool c++
        need pkg-config tool pkg-config
        need libcmocka-dev header cmocka.h
        need liblua5.1-0-dev header lua5.1/lua.h
        need redis-server tool redis-server
        wanted="$wanted valkey-server spin"
        ;;
    bench)
        need redis-server tool redis-server
        ;;
    peers)
        need python3 tool python3
        need python3-venv venv ""
        need default-jdk-headless tool javac
        need maven tool mvn
        need golang-go tool go
        need nodejs tool node
        need npm tool npm
        need cargo tool cargo
        need gnuplot-nox tool gnuplot
        ;;
    lint)
        need g++ tool c++
        need libcmocka-dev header cmocka.h
        need liblua5.1-0-dev header lua5.1/lua.h
        need clang tool clang
        need clang-tidy tool clang-tidy
        need clang-format tool clang-format
        need cppcheck tool cppcheck
        need shellcheck tool shellcheck
        need mandoc tool mandoc
        ;;
    fuzz)
        need clang tool clang
        if ! fuzzer && tool apt-cache; then
            [ -n "$(clang_number)" ] || apt update || true # no list knows clang yet
            package=libclang-rt-$(clang_number)-dev
            ! offered "$package" || need "$package" fuzzer ""
        fi
        ;;
    models)
        need spin tool spin
        ;;
    interop)
        need openjdk-17-jdk-headless tool javac
        need maven tool mvn
        ;;
    strings)
        need python3 tool python3
        need python3-venv venv ""
        need golang-go tool go
        need nodejs tool node
        need npm tool npm
        if ! redis_py && tool apt-cache; then
            offered python3-redis || apt update || true # no list knows it yet
            ! offered python3-redis || need python3-redis redis_py ""
        fi
        ;;
    *)
        die "no set is called \"$1\"; there are build, test, bench, peers, lint, fuzz, models, interop, strings"
        ;;
    esac
}

as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt()
{
    # needrestart would restart services of the machine, which are none of our business.
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" < /dev/null
}

# Does the distribution, as far as the lists here know, have all of these packages?
offered()
{
    for package in "$@"; do
        apt-cache policy "$package" 2> /dev/null | grep -q '^ *Candidate: [^(]' || return 1
    done
}

# install PACKAGE...: the lists are fetched only when they do not know a package or are out of date.
install()
{
    offered "$@" || apt update || true
    for try in $(seq $tries); do
        ! apt install --no-install-recommends "$@" || return 0
        [ "$try" -lt $tries ] || return 1
        echo "deps: apt-get failed; fetching the package lists and trying again" >&2
        sleep $((try * 2))
        apt update || true
    done
}

# The process that made the policy file, as its mark says; nothing when the file is not of our making.
policy_maker()
{
    [ ! -f $POLICY ] || sed -n "s|^# $MARK \\([0-9]*\\)\$|\\1|p" $POLICY
}

policy_add()
{
    maker=$(policy_maker)
    if [ -n "$maker" ] && [ ! -d "/proc/$maker" ]; then
        as_root rm -f $POLICY # it was killed before it could clean up
    fi
    # "set -C" refuses to write over a file that is there.
    if as_root sh -c "set -C; printf '#!/bin/sh\n# %s %s\nexit 101\n' \"$MARK\" $$ > $POLICY" 2> /dev/null; then
        as_root chmod 755 $POLICY
    fi
}

policy_remove()
{
    if [ "$(policy_maker)" = $$ ]; then
        as_root rm -f $POLICY
    fi
}

# A service that we brought: neither running nor started at the next boot.
service_off()
{
    if ! $policy; then
        as_root service "$1" stop > /dev/null 2>&1 || true
    fi
    if tool systemctl; then
        as_root systemctl disable "$1.service" > /dev/null 2>&1 || true
    else
        as_root deb-systemd-helper disable "$1.service" > /dev/null 2>&1 || true
    fi
    as_root update-rc.d "$1" disable > /dev/null 2>&1 || true
}

missing=""
wanted=""
[ $# -gt 0 ] || die "usage: scripts/deps.sh SET... (build test bench peers lint fuzz models interop strings)"
for set in "$@"; do
    need_set "$set"
done
# Nice to have: installed where the distribution has them.
for package in $wanted; do
    if ! tool "$package" && tool apt-cache && { [ -n "$missing" ] || offered "$package"; }; then
        extra="${extra:-} $package"
    fi
done
[ -n "$missing${extra:-}" ] || exit 0

if ! tool apt-get; then
    [ -n "$missing" ] || exit 0
    die "please install what these packages of Debian hold, and try again:$missing"
fi
if [ "$(id -u)" -ne 0 ] && ! tool sudo; then
    [ -n "$missing" ] || exit 0
    die "please become root, or have root do: apt-get install$missing"
fi
if ! as_root true; then
    [ -n "$missing" ] || exit 0
    die "sudo was refused; please have root do: apt-get install$missing"
fi

# One at a time: two would share the policy file, and the first to finish would remove it.
exec 9> "${TMPDIR:-/tmp}/holdfast-deps.$(id -u).lock"
flock 9

servers=""
for package in $missing ${extra:-}; do
    case $package in *-server) servers="$servers $package" ;; esac
done
policy=false # is ours in force?
if [ -n "$servers" ]; then
    trap policy_remove EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    policy_add
    [ "$(policy_maker)" != $$ ] || policy=true
fi

if [ -n "$missing" ]; then
    echo "deps: installing$missing"
    # shellcheck disable=SC2086 # a list of words
    install $missing || die "apt-get could not install:$missing"
fi
for package in ${extra:-}; do
    if offered "$package"; then
        echo "deps: installing $package"
        install "$package" || echo "deps: going on without $package" >&2
    fi
done
for package in $servers; do
    ! tool "$package" || service_off "$package"
done
