# bash completion of hpcbctl, hpcb-guests, hpcb-report and hpcb-sacct     -*- sh -*-
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
# shellcheck shell=bash

_hpcb_reply() { # _hpcb_reply WORD...: those that begin like the current one
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "${COMP_WORDS[COMP_CWORD]}")
}

_hpcb_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}

_hpcb_nodes() { _hpcb_reply "$(timeout 2 sinfo -h -a -N -o %N 2> /dev/null | sort -u)"; }

# The options of a program or verb, from its help.
_hpcb_options() { # _hpcb_options CMD...
    _hpcb_reply "$(timeout 2 "$@" --help 2> /dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)"
}

_hpcb_verbs='check status guests release top gang company snapshot calibrate profile metrics records job help'

_hpcbctl() {
    local verb='' at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
        -c | --config | -o | --output | --nodes | --remote | --state-dir | --wait | -u | --user) ((at++)) ;;
        -*) ;;
        *) verb=${COMP_WORDS[at]} && break ;;
        esac
    done
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    -c | --config | -o | --output | --state-dir) _hpcb_files && return ;;
    --nodes) _hpcb_nodes && return ;;
    esac
    if [[ ${COMP_WORDS[COMP_CWORD]} = -* ]]; then
        _hpcb_options hpcbctl
    elif [ -z "$verb" ] || [ "$verb" = help ]; then
        _hpcb_reply "$_hpcb_verbs"
    elif ((at == COMP_CWORD - 1)); then
        case $verb in
        gang) _hpcb_reply list pause resume set ;;
        guests) _hpcb_reply stop drain resume ;;
        release) _hpcb_reply windows ;;
        profile) _hpcb_reply show set forget learn ;;
        records) _hpcb_reply verify vacuum import ;;
        job) _hpcb_reply begin end ;;
        esac
    else
        _hpcb_files
    fi
}

_hpcb_program() {
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    -r | --partition) _hpcb_reply "$(timeout 2 sinfo -h -a -o %R 2> /dev/null | sort -u)" ;;
    --class) _hpcb_reply primary guest ;;
    --by) _hpcb_reply class user partition cluster name cpus hour day week month ;;
    --export) _hpcb_reply jsonl csv ;;
    *) if [[ ${COMP_WORDS[COMP_CWORD]} = -* ]]; then _hpcb_options "$1"; else _hpcb_files; fi ;;
    esac
}

complete -F _hpcbctl hpcbctl
complete -F _hpcb_program hpcb-guests hpcb-report hpcb-sacct
