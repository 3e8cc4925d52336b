#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# purity.sh RULES FOLDER: checks what objects use against rules.txt (its head says what is checked).
# FOLDER has one file for each room, ROOM.objects, with the path of an object on each line.
# Prints a line for each object and symbol that breaks a rule, and then fails.
set -eu

rules=$1
folder=$2
symbols=$(mktemp)
trap 'rm -f "$symbols" "$symbols.room"' EXIT

found=0
for list in "$folder"/*.objects; do
    [ -e "$list" ] || break
    room=$(basename "$list" .objects)
    # Not piped into sed: a failure of nm must be seen.
    xargs -d '\n' nm -A -P < "$list" > "$symbols.room"
    sed "s|^.*/\([^/]*\)\.o: |$room \1 |" "$symbols.room" >> "$symbols"
    found=$((found + $(grep -c . "$list")))
done
if [ "$found" -eq 0 ]; then
    echo "purity: no objects listed in $folder" >&2
    exit 2
fi

awk -v objects="$found" '
function matches(pattern, room,    stem) {
    stem = substr(pattern, 1, length(pattern) - 1)
    return pattern == room || (pattern ~ /\*$/ && substr(room, 1, length(stem)) == stem)
}
# Which line of rules speaks of a room: its name as written there, or "".
function line_of(room,    r) {
    for (r in uses)
        if (matches(r, room))
            return r
    return ""
}
function may_use(room, other,    n, part, i) {
    n = split(uses[line_of(room)], part, " ")
    for (i = 1; i <= n; i++)
        if (matches(part[i], other))
            return 1
    return 0
}
function complain(text) {
    print "purity: " text
    broken++
}
FNR == NR {
    sub(/#.*/, "")
    if ($1 == "uses") {
        rest = $0
        sub(/^uses +[^ ]+ */, "", rest)
        uses[$2] = rest
    } else if ($1 == "allow") {
        allow[$2, $3] = 1
    } else if ($1 == "pure") {
        for (i = 2; i <= NF; i++)
            pure[$i] = 1
    } else if (NF) {
        print "purity: " FILENAME ": line " FNR ": not understood"
        broken++
    }
    next
}
{ room = $1; object = $2; symbol = $3; type = $4 }
type ~ /^[A-TV-Z]$/ { home[symbol] = room } # defined, and seen by other objects
type ~ /^[Uwv]$/ { used[++count] = room " " object " " symbol }
{ rooms[room] = 1 }
END {
    for (room in rooms)
        if (line_of(room) == "")
            complain("room " room " has no line \"uses\" in the rules")
    for (i = 1; i <= count; i++) {
        split(used[i], u, " ")
        room = u[1]; object = u[2]; symbol = u[3]
        if (symbol ~ /^hfi?_/) {
            if (home[symbol] == room || (symbol ~ /^hf_/ && may_use(room, "public")))
                continue
            if (!(symbol in home))
                complain(room "/" object " uses " symbol ", which is defined nowhere")
            else if (!may_use(room, home[symbol]))
                complain(room "/" object " uses " symbol " of " home[symbol] \
                         ": calls run downward only")
        } else if ((room in pure) && !((room, symbol) in allow) && !(("*", symbol) in allow) &&
                   symbol !~ /^(__(asan|lsan|tsan|ubsan|sanitizer|start_asan|stop_asan)_|_GLOBAL_OFFSET_TABLE_$)/)
            complain(room "/" object " uses " symbol \
                     ", which is not in the allow-list (tests/purity/rules.txt)")
    }
    if (broken)
        exit 1
    print "purity: " objects " objects, " count " uses of symbols, all allowed"
}' "$rules" "$symbols"
