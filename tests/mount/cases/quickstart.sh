#!/bin/sh
# SPDX-License-Identifier: MIT
#
# examples/quickstart.sh, the first command of the README, all but the installation of packages.
# timeout: 240
# builds: plain

count=0
result() # STATUS NAME
{
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        sed 's/^/# /' output
        echo "not ok $count - $2"
    fi
}

quickstart()
{
    QOMFS_BUILD=$BUILD "$SOURCE/examples/quickstart.sh" --no-install "$@" >output 2>&1
}

mounts_below() # FOLDER
{
    grep -c " $1" /proc/self/mountinfo
}

point=$TMP/a\ b/m

quickstart
result $? "without a mount point it succeeds"
grep -q '^\$ cat qom/machine/type' output
result $? "it shows the values of properties"
[ "$(mounts_below "$TMPDIR/")" = 0 ] && [ -z "$(ls "$TMPDIR")" ]
result $? "the temporary mount is gone in the end"

quickstart "$point"
result $? "a mount point is made where it does not exist"
[ -s "$point/qom/machine/type" ]
result $? "what is mounted there stays"
quickstart "$point" && grep -q 'already' output
result $? "once more it shows what is mounted"

daemon=$(pgrep -f -- "$QOMFS $point") && kill -9 "$daemon"
result $? "its daemon is found and killed"
quickstart "$point" && [ -s "$point/qom/machine/type" ]
result $? "a mount whose daemon was killed is mounted anew"

command=$(sed -n 's/^To unmount it: *//p' output)
sh -c "$command"
[ "$(mounts_below "$TMP/")" = 0 ]
result $? "the command that it names unmounts it"

quickstart --no-such-option
[ $? = 2 ]
result $? "an option that it does not know is wrong usage"

echo "1..$count"
