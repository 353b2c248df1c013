#!/bin/sh
# What hpc_balance.so shows to the programs that load it, and what it wants of them: it
# lives in slurmd and in every srun, beside plugins of others.
plugin=${HPCB_BUILDDIR:-.}/spank/.libs/hpc_balance.so
number=0
echo 1..6

check() { # check DESCRIPTION UNWANTED: ok where nothing unwanted is there
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
    fi
}

defined=$(nm -D --defined-only "$plugin" | awk '{print $3}')
check "it exports its entry points and nothing else" "$(echo "$defined" |
    grep -vxE 'plugin_(name|type|version)|slurm_spank_[a-z_]+')"

missing=
for hook in init init_post_opt job_prolog user_init task_init_privileged task_post_fork \
    task_init task_exit exit job_epilog; do
    echo "$defined" | grep -qx "slurm_spank_$hook" || missing="$missing $hook"
done
check "it exports every hook that it has" "$missing"

# Slurm's plugin loader binds what it finds, so a name of the future does no harm; but a
# hook that we do not mean to have would be called.
check "it exports no hook beyond those" "$(echo "$defined" | grep slurm_spank_ |
    grep -vxE 'slurm_spank_(init|init_post_opt|job_prolog|user_init|task_init_privileged|task_post_fork|task_init|task_exit|exit|job_epilog|init_failure_mode)')"

# Before glibc 2.34 threads are in a library of their own; a sanitizer's run-time
# library comes with a build that asks for it.
check "it is linked to libc alone" "$(readelf -d "$plugin" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc\.so|libpthread\.so|lib[aul]b?san\.so|ld-linux)')"

# Sanitizers stand in for half of libc, without versions.
wanted=$(nm -D --undefined-only "$plugin" | awk '{print $2}' | grep -v '@GLIBC' |
    grep -vxE 'spank_(context|get_item|getenv|setenv|unsetenv|option_register|option_getopt)|slurm_(error|info|debug|spank_log)' |
    grep -vE '^(_ITM_|__gmon_start__)')
case $wanted in
*san_*) wanted= ;;
esac
check "of its host it wants SPANK's calls and nothing else" "$wanted"

check "it brings no search path and no text relocations" "$(readelf -d "$plugin" |
    grep -E 'RPATH|RUNPATH|TEXTREL')"
