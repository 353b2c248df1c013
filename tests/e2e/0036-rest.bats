#!/usr/bin/env bats
# A job that arrives by slurmrestd, without any SPANK option: the partition makes it a guest.

load helpers
load guest

setup_file() {
    PATH=$PATH:/usr/sbin command -v slurmrestd > /dev/null || skip "slurmrestd is not installed"
    cluster_up
}
teardown_file() { cluster_down; }
setup() { cancel_all; }

plugin_dirs() { as_root scontrol show config | sed -n 's/^PluginDir *= *//p' | tr : ' '; }

# The newest version of the interface that this Slurm has, as v0.0.38.
api() {
    # shellcheck disable=SC2046 # several directories
    find $(plugin_dirs) -name 'data_parser_v0_0_*.so' -o -name 'openapi_v0_0_*.so' 2> /dev/null |
        sed 's/.*_v0_0_\([0-9]*\)\.so/v0.0.\1/' | sort -V | tail -n 1
}

rest_submit() { # rest_submit PARTITION: prints the job's number
    local api body
    api=$(api)
    body=$(python3 -c '
import json, sys
paths = {"PATH": "/usr/bin:/bin"}
# Since v0.0.39 the environment is a list, and the script a part of the job.
old = int(sys.argv[2].rpartition(".")[2]) < 39
job = {"partition": sys.argv[1], "name": "rest", "current_working_directory": "/tmp",
       "standard_output": "/dev/null", "standard_error": "/dev/null", "tasks": 1,
       "environment": paths if old else [f"{key}={value}" for key, value in paths.items()]}
script = "#!/bin/bash\nsleep 300\n"
request = {"job": job, "script": script} if old else {"job": {**job, "script": script}}
print(json.dumps(request), end="")' "$1" "$api")
    printf 'POST /slurm/%s/job/submit HTTP/1.1\r\nHost: ctl\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
        "$api" "${#body}" "$body" > "$WORK/request"
    # Pipes of the user: it believes nobody whose files others may read.
    as_user sh -c "PATH=\$PATH:/usr/sbin; cat '$WORK/request' | slurmrestd -a rest_auth/local | cat" \
        > "$WORK/answer" 2> "$WORK/errors"
    grep -aoE '"job_id": *[0-9]+' "$WORK/answer" | head -n 1 | tr -dc 0-9 | grep . || {
        cat "$WORK/answer" "$WORK/errors" >&2
        return 1
    }
}

job_on_node() { # job_on_node JOB EXPRESSION: of `job` in hpcbctl status
    run_in_node "$(node_of "$1")" hpcbctl status --json | python3 -c '
import json, sys
job, = [job for job in json.load(sys.stdin)["jobs"] if job["job_id"] == int(sys.argv[1])]
print(job)
assert eval(sys.argv[2])' "$1" "$2"
}

@test "a guest by its partition, lowered, and tagged" {
    g=$(rest_submit guest)
    wait_for_state "$g" RUNNING 60
    job_on_node "$g" 'job["class"] == "guest" and job["mechanism"] and not job["exposed"]'
    as_root scontrol show job "$g" | grep -F '"class":"guest"'
}

@test "a primary stays one" {
    p=$(rest_submit primary)
    wait_for_state "$p" RUNNING 60
    job_on_node "$p" 'job["class"] == "primary" and not job["mechanism"]'
}
