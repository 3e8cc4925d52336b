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
    set -l valued --store --wait --ttl --max-hold --label --on-lost --kill-after -E --busy-code --owner \
        --permits --and --for --skip-code
    set -l i 3
    __holdfast_in permits sem latch; and set i 4
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

# `permits`, `sem` or `latch` is there, and its verb is not yet; or is one of these.
function __holdfast_wants_verb
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test $words[2] = $argv[1]
end

function __holdfast_has_verb
    set -l words (commandline -opc)
    __holdfast_in permits sem latch; and test (count $words) -ge 3; and contains -- $words[3] $argv
end

function __holdfast_command
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l i (math (__holdfast_at) + 1)
    while test (math $i + 1) -le (count $words); and test $words[$i] = --and
        set i (math $i + 2)
    end
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
complete -c holdfast -n __fish_use_subcommand -a once -d 'run a command unless it was run not long ago, on any host'
complete -c holdfast -n __fish_use_subcommand -a ls -d 'list locks'
complete -c holdfast -n __fish_use_subcommand -a show -d 'show one lock, its holders and its waiters'
complete -c holdfast -n __fish_use_subcommand -a permits -d 'see and change the number of permits of run --permits'
complete -c holdfast -n __fish_use_subcommand -a sem -d 'take and give permits that belong to nobody'
complete -c holdfast -n __fish_use_subcommand -a latch -d 'wait until a count is down to zero; set it, count down'
complete -c holdfast -n __fish_use_subcommand -a break -d 'take a lock away from the holder shown'
complete -c holdfast -n __fish_use_subcommand -a version -d 'print the version'
complete -c holdfast -n __fish_use_subcommand -a help -d 'explain a subcommand'
complete -c holdfast -n __fish_use_subcommand -l version -d 'print the version'
complete -c holdfast -n '__holdfast_in help' -a 'run once ls show break permits sem latch version help'

complete -c holdfast -n '__holdfast_in run once ls show break permits sem latch; and __holdfast_before_name' -l store -x -a 'sqlite: redis:// redis+unix:///' -d 'the store'
complete -c holdfast -n '__holdfast_in run once ls show break permits sem latch; and __holdfast_before_name' -s h -l help -d help
complete -c holdfast -n '__holdfast_in run once ls show break permits sem latch; and __holdfast_wants_name' -a '(__holdfast_names)' -d lock
complete -c holdfast -n '__holdfast_in ls show' -l json -d 'as JSON'
complete -c holdfast -n '__holdfast_in ls' -l names -d 'names only'
complete -c holdfast -n '__holdfast_in break' -l owner -x -d 'only if this owner holds it'

complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l wait -x -a "0 $durations" -d 'how long to wait'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -s n -l try -d 'try once'
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l ttl -x -a "$durations" -d 'how long the lock outlives us'
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l max-hold -x -a "$durations" -d 'end the command after so long'
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l label -x -d why
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l on-lost -x -a 'term kill ignore' -d 'when the lock is lost'
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -l kill-after -x -a "$durations" -d 'time between TERM and KILL'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -s E -l busy-code -x -a '0 75' -d 'exit code when busy'
complete -c holdfast -n '__holdfast_in run once; and __holdfast_before_name' -s v -l verbose -d 'say when we wait and have the lock'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l shared -d 'together with others that say so'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l fair -d 'in the order in which they came'
complete -c holdfast -n '__holdfast_in run; and __holdfast_before_name' -l permits -x -a '1/2 1/4 1/8' -d 'so many of so many permits'
complete -c holdfast -n '__holdfast_in run' -l and -x -a '(__holdfast_names)' -d 'this lock too'
complete -c holdfast -n '__holdfast_in once; and __holdfast_before_name' -l for -x -a "$durations" -d 'not again for so long'
complete -c holdfast -n '__holdfast_in once; and __holdfast_before_name' -s E -l skip-code -x -a '0 75' -d 'exit code when skipped'
complete -c holdfast -n '__holdfast_in once; and __holdfast_before_name' -l retry-failed -d 'a run that fails does not count'
complete -c holdfast -n '__holdfast_in once; and __holdfast_before_name' -s q -l quiet -d 'say nothing when skipped'
complete -c holdfast -n '__holdfast_in run once; and not __holdfast_before_name' -a '(__holdfast_command)'

complete -c holdfast -n '__holdfast_wants_verb permits' -a 'set resize show delete'
complete -c holdfast -n '__holdfast_wants_verb sem' -a 'set acquire release available drain delete'
complete -c holdfast -n '__holdfast_wants_verb latch' -a 'set down wait show delete'
complete -c holdfast -n '__holdfast_has_verb wait acquire' -l wait -x -a "0 $durations" -d 'how long to wait'
complete -c holdfast -n '__holdfast_has_verb wait acquire' -s n -l try -d 'try once'
complete -c holdfast -n '__holdfast_has_verb wait acquire' -s E -l busy-code -x -a '0 75' -d 'exit code when not in time'
complete -c holdfast -n '__holdfast_has_verb wait acquire' -s v -l verbose -d 'say when we wait'
complete -c holdfast -n '__holdfast_has_verb show available drain' -l json -d 'as JSON'
