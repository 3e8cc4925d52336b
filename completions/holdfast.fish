# SPDX-License-Identifier: Apache-2.0
#
# Completion of holdfast for fish. Lock names come from the store, within a second or not at all.

function __holdfast_names
    set -l words (commandline -opc)
    set -l store
    set -l at (contains -i -- --store $words)
    and set store --store $words[(math $at + 1)]
    timeout 1 holdfast ls --names $store 2>/dev/null </dev/null
end

# Where the word being completed stands: "value" of an option, "name", or the number of the word that is the
# name already given.
function __holdfast_at
    set -l words (commandline -opc)
    set -l valued --store --wait --ttl --max-hold --label --on-lost --kill-after -E --busy-code --owner
    set -l i 3
    while test $i -le (count $words)
        if contains -- $words[$i] $valued
            set i (math $i + 2)
        else if string match -q -- '-*' $words[$i]
            set i (math $i + 1)
        else
            echo $i
            return
        end
    end
    test $i -gt (math (count $words) + 1); and echo value; or echo name
end

function __holdfast_wants_name
    test (__holdfast_at) = name
end

function __holdfast_before_name
    contains -- (__holdfast_at) name value
end

function __holdfast_in
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

function __holdfast_command
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l i (math (__holdfast_at) + 1)
    test $i -le (count $words); and test $words[$i] = --; and set i (math $i + 1)
    if test $i -gt (count $words)
        complete -C "$current"
    else
        complete -C (string join ' ' -- (string escape -- $words[$i..-1]) "$current")
    end
end

set -l durations 250ms 1s 5s 10s 30s 1m 10m 1h

complete -c holdfast -f
complete -c holdfast -n __fish_use_subcommand -a run -d 'take a lock, run a command, give the lock back'
complete -c holdfast -n __fish_use_subcommand -a ls -d 'list locks'
complete -c holdfast -n __fish_use_subcommand -a show -d 'show one lock, its holder and its waiters'
complete -c holdfast -n __fish_use_subcommand -a break -d 'take a lock away from the holder shown'
complete -c holdfast -n __fish_use_subcommand -a version -d 'print the version'
complete -c holdfast -n __fish_use_subcommand -a help -d 'explain a subcommand'
complete -c holdfast -n __fish_use_subcommand -l version -d 'print the version'
complete -c holdfast -n '__holdfast_in help' -a 'run ls show break version help'

complete -c holdfast -n '__holdfast_in run ls show break; and __holdfast_before_name' -l store -x -a 'sqlite: redis:// redis+unix:///' -d 'the store'
complete -c holdfast -n '__holdfast_in run ls show break; and __holdfast_before_name' -s h -l help -d help
complete -c holdfast -n '__holdfast_in run ls show break; and __holdfast_wants_name' -a '(__holdfast_names)' -d lock
complete -c holdfast -n '__holdfast_in ls show' -l json -d 'as JSON'
complete -c holdfast -n '__holdfast_in ls' -l names -d 'names only'
complete -c holdfast -n '__holdfast_in break' -l owner -x -d 'only if this owner holds it'

complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l wait -x -a "0 $durations" -d 'how long to wait'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -s n -l try -d 'try once'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l ttl -x -a "$durations" -d 'how long the lock outlives us'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l max-hold -x -a "$durations" -d 'end the command after so long'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l label -x -d why
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l on-lost -x -a 'term kill ignore' -d 'when the lock is lost'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l kill-after -x -a "$durations" -d 'time between TERM and KILL'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -s E -l busy-code -x -a '0 75' -d 'exit code when busy'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -s v -l verbose -d 'say when we wait and have the lock'
complete -c holdfast -n '__holdfast_in run; and not __holdfast_before_name' -a '(__holdfast_command)'
