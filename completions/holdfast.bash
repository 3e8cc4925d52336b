# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of holdfast for bash. Lock names come from the store, within a second or not at all.

_holdfast_reply()
{
    local IFS=$'\n'
    # shellcheck disable=SC2207 # one candidate a line
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_holdfast_words()
{
    # shellcheck disable=SC2207 # words without blanks
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}

# What the store option said on this line.
_holdfast_names()
{
    local i store=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --store) [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++)); store=(--store "${COMP_WORDS[i + 1]}") ;;
        esac
    done
    timeout 1 holdfast ls --names "${store[@]}" 2> /dev/null < /dev/null
}

# Names may have colons, at which readline breaks words.
_holdfast_name()
{
    local cur=$1 colons i
    _holdfast_reply "$(_holdfast_names)" "$cur"
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        colons=${cur%"${cur##*:}"}
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]=${COMPREPLY[i]#"$colons"}
        done
    fi
}

# The index of the last word of the name that begins at $1: readline breaks it at its colons.
_holdfast_past_name()
{
    local i=$1
    while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i + 1]} == : || ${COMP_WORDS[i]} == : ]]; do
        ((i++))
    done
    echo "$i"
}

# The value of an option; false when $1 is none that takes one.
_holdfast_value()
{
    case $1 in
    --on-lost) _holdfast_words 'term kill ignore' "$2" ;;
    --wait) _holdfast_words '0 5s 30s 1m 10m 1h' "$2" ;;
    --ttl) _holdfast_words '5s 10s 30s 1m 5m' "$2" ;;
    --max-hold) _holdfast_words '1m 10m 1h 8h' "$2" ;;
    --for) _holdfast_words '10m 1h 12h 24h' "$2" ;;
    --permits) _holdfast_words '1/2 1/4 1/8' "$2" ;;
    --and) _holdfast_name "$2" ;;
    --kill-after) _holdfast_words '0 1s 10s 1m' "$2" ;;
    --store) compopt -o nospace; _holdfast_words 'sqlite: redis:// redis+unix:///' "$2" ;;
    -E | --busy-code | --skip-code) _holdfast_words '0 75' "$2" ;;
    --label | --owner) COMPREPLY=() ;;
    *) return 1 ;;
    esac
}

# `run`, `once`: options, then a name, then a command with words of its own.
_holdfast_run()
{
    local cur=$1 prev=$2 i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --store | --wait | --ttl | --max-hold | --label | --on-lost | --kill-after | -E | --busy-code | \
            --permits | --and | --for | --skip-code)
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            ((i++))
            ;;
        --) ((i++)); break ;;
        -*) ;;
        *) break ;;
        esac
    done
    i=$(_holdfast_past_name "$i")
    if ((i < COMP_CWORD)); then
        ((i++))
        # further names stand behind the first
        while ((i + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == --and ]]; do
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            i=$(_holdfast_past_name $((i + 1)))
            ((i++))
        done
        if ((i == COMP_CWORD)) && [[ $cur == --a* && ${COMP_WORDS[1]} == run ]]; then
            _holdfast_words --and "$cur"
            return
        fi
        [[ ${COMP_WORDS[i]} == -- && $i -lt $COMP_CWORD ]] && ((i++))
        if declare -F _comp_command_offset > /dev/null; then
            _comp_command_offset "$i"
        elif declare -F _command_offset > /dev/null; then
            _command_offset "$i"
        elif ((i == COMP_CWORD)); then
            # shellcheck disable=SC2207 # commands have no blanks
            COMPREPLY=($(compgen -c -- "$cur"))
        else
            compopt -o default
        fi
        return
    fi
    if [[ $cur == -* && ${COMP_WORDS[1]} == once ]]; then
        _holdfast_words '--for --store --wait --ttl --max-hold --label --on-lost --kill-after --skip-code
            --retry-failed --quiet --verbose --help -E -q -v' "$cur"
    elif [[ $cur == -* ]]; then
        _holdfast_words '--store --wait --try --shared --fair --permits --and --ttl --max-hold --label
            --on-lost --kill-after --busy-code --verbose --help -n -E -v' "$cur"
    else
        _holdfast_name "$cur"
    fi
}

# `latch`, `sem`, `permits`: a verb, its options, a name.
_holdfast_verbs()
{
    local cur=$1 verbs options='--store --help'
    case ${COMP_WORDS[1]} in
    latch) verbs='set down wait show delete' ;;
    sem) verbs='set acquire release available drain delete' ;;
    permits) verbs='set resize show delete' ;;
    esac
    if ((COMP_CWORD == 2)); then
        _holdfast_words "$verbs --help" "$cur"
        return
    fi
    case ${COMP_WORDS[2]} in
    wait | acquire) options='--store --wait --try --busy-code --verbose --help -n -E -v' ;;
    show | available | drain) options='--store --json --help' ;;
    esac
    if [[ $cur == -* ]]; then
        _holdfast_words "$options" "$cur"
    else
        _holdfast_name "$cur"
    fi
}

_holdfast()
{
    local cur prev at=$COMP_CWORD
    cur=${COMP_WORDS[at]}
    prev=${COMP_WORDS[at - 1]}
    COMPREPLY=()
    while ((at > 2)) && [[ ${COMP_WORDS[at]} == : || ${COMP_WORDS[at - 1]} == : ]]; do
        ((at--))
        cur=${COMP_WORDS[at]}$cur
        prev=${COMP_WORDS[at - 1]}
    done
    if ((COMP_CWORD == 1)); then
        _holdfast_words 'run once ls show break permits sem latch version help --help --version' "$cur"
        return
    fi
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $cur == = ]] && cur=''
    case ${COMP_WORDS[1]} in
    run | once)
        _holdfast_value "$prev" "$cur" || _holdfast_run "$cur" "$prev"
        ;;
    latch | sem | permits)
        _holdfast_value "$prev" "$cur" || _holdfast_verbs "$cur"
        ;;
    ls | show | break)
        if _holdfast_value "$prev" "$cur"; then
            return
        elif [[ $cur == -* ]]; then
            case ${COMP_WORDS[1]} in
            ls) _holdfast_words '--store --json --names --help' "$cur" ;;
            show) _holdfast_words '--store --json --help' "$cur" ;;
            break) _holdfast_words '--store --owner --help' "$cur" ;;
            esac
        else
            _holdfast_name "$cur"
        fi
        ;;
    help) _holdfast_words 'run once ls show break permits sem latch version help' "$cur" ;;
    esac
}

complete -F _holdfast holdfast
